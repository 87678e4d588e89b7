"""Source locations leave the text; nothing else does."""

from __future__ import annotations

from mallocmuzero_xla.compiler.hlo_text import strip_source_locations

HEAD = "HloModule jit_f, is_scheduled=true\n\n"
TABLES = """FileNames
1 "/home/someone/model.py"

FunctionNames
1 "<module>"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=2 end_column=39}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


"""
BODY = "%fusion (p: f32[8]) -> f32[8] {\n  ROOT %p = f32[8]{0} parameter(0)\n}\n"


def instruction(metadata: str) -> str:
    return f"  %a = f32[8]{{0}} add(%p, %p){metadata}, backend_config={{}}\n"


def test_stack_frame_tables_are_removed() -> None:
    assert strip_source_locations(HEAD + TABLES + BODY) == HEAD + BODY


def test_text_without_locations_is_unchanged() -> None:
    text = HEAD + BODY + instruction(', metadata={op_name="jit(f)/add"}')
    assert strip_source_locations(text) == text


def test_stack_frame_id_is_removed_and_op_name_kept() -> None:
    text = instruction(', metadata={op_name="jit(f)/add" stack_frame_id=3}')
    assert strip_source_locations(text) == instruction(', metadata={op_name="jit(f)/add"}')


def test_source_attributes_are_removed_wherever_they_stand() -> None:
    text = instruction(
        ', metadata={op_type="add" source_file="/a \\"b\\"/c.py" source_line=7 '
        'source_end_line=8 source_column=1 source_end_column=2 op_name="x" profile_type={1}}'
    )
    kept = instruction(', metadata={op_type="add" op_name="x" profile_type={1}}')
    assert strip_source_locations(text) == kept


def test_metadata_that_holds_locations_only_is_removed() -> None:
    text = instruction(', metadata={source_file="/a.py" source_line=7}')
    assert strip_source_locations(text) == instruction("")


def test_op_name_that_reads_like_a_location_is_kept() -> None:
    text = instruction(', metadata={op_name="x source_line=7 }\\" stack_frame_id=1"}')
    assert strip_source_locations(text) == text
