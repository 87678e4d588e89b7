"""The tables and the picture agree with the records, and leave the roofline out of headlines."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

import protocol_table
import pytest
from mallocmuzero_xla.errors import UsageError
from protocol_gains import Gains, median_of
from protocol_picture import bars_of, picture
from protocol_plan import EVERYTHING, FLAGS, TEN
from protocol_records import Record
from protocol_samples import price, record
from protocol_table import BEGIN, END, written_into

DIT = ("tpu_v6e", "dit_4x1024_b48x256")


def flags(**fields: Any) -> dict[str, Any]:
    """A compile under flags: what it calls its default is the program under the flags."""
    return record(mode="flags_98304", budget_seconds=0.0, **fields)


def tables(records: Sequence[Record]) -> str:
    return protocol_table.tables(records, "results/gains.svg")


def rows(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_a_gain_is_split_by_where_its_cycles_come_from() -> None:
    # A training step's 7.2 % are 4.6 % without the roofline, of which 1.0 % are waits for copies.
    step = record(default_price=price(700, 100, 200), price=price(664, 90, 174))
    (gain,) = Gains([step]).of(DIT, EVERYTHING)
    assert (gain.estimates, gain.copies, gain.roofline) == pytest.approx((0.036, 0.010, 0.026))
    assert (gain.known, gain.whole) == pytest.approx((0.046, 0.072))


def test_tables_name_the_processors_and_say_where_none_is_recorded() -> None:
    records = [record(program=name, processor=name.upper()) for name in ("b", "a")]
    assert "- processors: A, B\n" in tables(records)
    del records[0]["processor"]
    assert "- processors: A, not recorded\n" in tables(records)


def test_headlines_leave_the_roofline_out() -> None:
    step = record(default_price=price(700, 100, 200), price=price(664, 90, 174))
    (row,) = rows(tables([step]), "tpu_v6e")
    assert row == (
        "| tpu_v6e | train and validation | 1 | **4.60 %** | 4.60 % | 4.60 % to 4.60 % | 3.60 % | "
        "1.00 % | 2.60 % |"
    )


def test_headlines_keep_the_test_split_apart_and_leave_uncontended_programs_out() -> None:
    records = [
        record(price=price(900)),
        record(program="a", price=price(800)),
        record(program="b", split="test", price=price(950)),
        record(program="c", contended=False, price=price(100)),
    ]
    trained, tested = rows(tables(records), "tpu_v6e")
    assert trained.startswith(
        "| tpu_v6e | train and validation | 2 | **15.00 %** | 15.00 % | 10.00 % to 20.00 % |"
    )
    assert tested.startswith("| tpu_v6e | test | 1 | **5.00 %** |")


def test_the_gain_of_several_seeds_is_their_median_with_its_range() -> None:
    records = [
        record(seed=seed, price=price(cycles), processor_seconds=cycles)
        for seed, cycles in enumerate((900, 860, 910))
    ]
    (gain,) = [median_of(Gains(records).of(DIT, EVERYTHING))]
    assert gain.record["seed"] == 0
    (row,) = rows(tables(records), "dit_4x1024_b48x256 |")
    assert "| 10.00 % | 9.00 % to 14.00 % |" in row
    assert row.endswith("| 900 |")


def test_flags_are_compared_with_the_default_of_the_other_runs() -> None:
    records = [record(), flags(default_price=price(950), price=price(950))]
    (gain,) = Gains(records).of(DIT, FLAGS[0])
    assert gain.known == pytest.approx(0.05)
    header, _, row, mean = [
        line for line in tables(records).partition("side by side")[2].splitlines() if "|" in line
    ][:4]
    assert header == "| chip | program | split | flag 96 MiB | everything |"
    assert row == "| tpu_v6e | dit_4x1024_b48x256 | train | 5.00 % | 10.00 % |"
    assert mean == "| tpu_v6e | mean |  | **5.00 %** | **10.00 %** |"


def test_flags_without_another_run_are_named_and_have_no_gain() -> None:
    shown = tables([flags()])
    assert "dit_4x1024_b48x256, flags_98304, seed 0: no other run says what the default is" in shown


def limit(**fields: Any) -> dict[str, Any]:
    return record(mode="limit", budget_seconds=120.0, **fields)


def test_a_program_that_does_not_compile_under_flags_fails_beside_the_others() -> None:
    refused = flags(program="refused", status="failed", error="Exceeded vmem capacity")
    records = [record(), flags(price=price(1100)), record(program="refused"), refused]
    shown = tables(records)
    assert "| tpu_v6e | refused | train | fails | 10.00 % |" in shown
    # The mean is of the programs that compile.
    assert "| tpu_v6e | mean |  | **-10.00 %** of 1 | **10.00 %** |" in shown
    assert "- tpu_v6e refused, flags_98304, seed 0: Exceeded vmem capacity" in shown
    _, (under_flags, _) = bars_of(Gains(records))["tpu_v6e"]
    assert under_flags.known == pytest.approx(-0.1)
    assert picture(records).count(">(1)</text>") == 1


def test_means_side_by_side_are_of_the_programs_that_have_all_searches() -> None:
    records = [record(), limit(price=price(950)), flags(price=price(1100))]
    records += [record(program="other", price=price(500))]
    assert Gains(records).compared("tpu_v6e") == [DIT]
    count, bars = bars_of(Gains(records))["tpu_v6e"]
    assert count == 1
    assert [bar.known for bar in bars] == pytest.approx([-0.1, 0.05, 0.1])


def test_records_with_different_defaults_are_refused() -> None:
    records = [record(), record(seed=1, default_price=price(1001))]
    with pytest.raises(UsageError, match="a default of 1000 cycles and another 1001"):
        tables(records)


def test_results_that_are_slower_than_the_default_are_counted_but_not_those_of_flags() -> None:
    records = [record(), record(program="slow", price=price(1001)), flags(price=price(1100))]
    assert [each["program"] for each in Gains(records).slower()] == ["slow"]
    assert "- slower than the default: 1; failed: 0" in tables(records)


def test_failures_are_listed_with_their_sentence() -> None:
    failed = record(program="broken", status="failed", error="it does not compile")
    shown = tables([record(), failed])
    assert "failed: 1" in shown
    assert "- tpu_v6e broken, everything, seed 0: it does not compile" in shown


def test_gains_against_budget_are_shown_once_ten_programs_have_them() -> None:
    records = [
        record(chip=chip, program=program, budget_seconds=seconds, price=price(cycles))
        for chip, program in TEN
        for seconds, cycles in ((60.0, 980), (300.0, 900))
    ]
    shown = tables(records).partition("### Gains against budget")[2]
    assert shown.strip().startswith("| chip | program | 1 min | 5 min |")
    assert "|  | mean | **2.00 %** | **10.00 %** |" in shown
    assert "Gains against budget" not in tables(records[1:])


def test_runs_of_the_reduced_form_are_tabled_as_such() -> None:
    shown = tables([record(budget_seconds=180.0)])
    assert shown.startswith("- protocol 1, commit cccccccccccc, jax 1, libtpu 2")
    assert "### All programs on tpu_v6e, 3 minutes" in shown


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"executable": True, "executable_limit_kib": 24576}, "placed under 24 MiB"),
        ({"chip": "tpu_v4i", "executable": True, "executable_limit_kib": 16384}, "placed"),
        ({"options": {"xla_tpu_scoped_vmem_limit_kib": "49152", "a": "1", "b": "2"}},
         "48 MiB, 2 other options"),
        ({"options": {"a": "1"}}, "1 other option"),
        ({}, "default"),
    ],
)  # fmt: skip
def test_a_row_says_what_the_result_is(fields: dict[str, Any], words: str) -> None:
    (row,) = rows(tables([record(**fields)]), "dit_4x1024_b48x256 |")
    assert f"| {words} |" in row


def test_tables_replace_what_is_between_the_marks() -> None:
    document = f"above\n{BEGIN}\nold\n{END}\nbelow\n"
    text = written_into(document, [record()], "here/gains.svg")
    assert text.startswith(f"above\n{BEGIN}\n- protocol 1")
    assert "(here/gains.svg)" in text
    assert text.endswith(f"{END}\nbelow\n")
    assert written_into(text, [record()], "here/gains.svg") == text


@pytest.mark.parametrize("document", ["no marks", f"{BEGIN}\n{BEGIN}\n{END}\n"])
def test_a_document_without_one_pair_of_marks_is_refused(document: str) -> None:
    with pytest.raises(UsageError, match="expected one line"):
        written_into(document, [record()], "gains.svg")


def test_the_picture_has_a_bar_and_a_frame_for_each_mode_of_each_chip() -> None:
    records = [
        record(default_price=price(800, 0, 200), price=price(720, 0, 100)),
        flags(price=price(880, 0, 220)),
        record(chip="tpu_v4i", price=price(990)),
    ]
    root = ElementTree.fromstring(picture(records))
    space = "{http://www.w3.org/2000/svg}"
    frames = [each for each in root.iter(f"{space}rect") if each.get("fill") == "none"]
    filled = [each for each in root.iter(f"{space}rect") if each.get("fill", "")[0] == "#"]
    # Three bars; the legend has one box for each of the two modes.
    assert (len(frames), len(filled)) == (3, 3 + 2)
    words = [each.text for each in root.iter(f"{space}text")]
    assert {"8.0", "-8.0", "1.0", "tpu_v6e, 1 program", "tpu_v4i, 1 program"} <= set(words)
    # 18 % with the roofline against 8 % without it.
    everything = float(frames[1].get("height", "")), float(filled[1].get("height", ""))
    assert everything[0] / everything[1] == pytest.approx(18 / 8, rel=0.01)


def test_a_bar_of_almost_nothing_has_no_minus_sign() -> None:
    shown = picture([record(price=price(1000.1))])
    assert ">0.0<" in shown
    assert "-0.0<" not in shown


def test_a_picture_without_records_is_empty() -> None:
    assert len(list(ElementTree.fromstring(picture([])))) == 1
