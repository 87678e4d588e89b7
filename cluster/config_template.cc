#include "cluster/config_template.h"

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

void Append(const Message& message, const std::string& indent, std::string& text);

// Appends one value of a field; `index` is -1 for a singular field.
void AppendValue(const Message& message, const FieldDescriptor& field, int index,
                 const std::string& indent, std::string& text) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    std::string value;
    TextFormat::PrintFieldValueToString(message, &field, index, &value);
    absl::StrAppend(&text, indent, field.name(), ": ", value, "\n");
    return;
  }
  const Reflection& reflection = *message.GetReflection();
  absl::StrAppend(&text, indent, field.name(), " {\n");
  Append(index < 0 ? reflection.GetMessage(message, &field)
                   : reflection.GetRepeatedMessage(message, &field, index),
         absl::StrCat(indent, "  "), text);
  absl::StrAppend(&text, indent, "}\n");
}

// TextFormat's own printer leaves out numbers that are 0. A reader would put the default there.
void Append(const Message& message, const std::string& indent, std::string& text) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) {
      const int size = reflection.FieldSize(message, &field);
      for (int j = 0; j < size; ++j) AppendValue(message, field, j, indent, text);
      continue;
    }
    if (field.has_presence() && !reflection.HasField(message, &field)) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        !reflection.HasField(message, &field)) {
      continue;
    }
    AppendValue(message, field, -1, indent, text);
  }
}

std::string Mark(const char* kind, const std::string& name) {
  return absl::StrCat("%", kind, ":", name, "%");
}

// Sets the metrics address to its mark if there is one.
void MarkMetrics(const std::string& name, std::string* address) {
  if (!address->empty()) *address = Mark("metrics", name);
}

// Clears a field that addresses what a process binds; a role on Slurm binds the address that it
// announces.
void ClearListenAddress(Message& message) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("listen_address");
  if (field != nullptr) message.GetReflection()->ClearField(&message, field);
}

}  // namespace

std::string ConfigTemplate(v1::ClusterConfig config, bool local_shards,
                           const std::string& shared_dir) {
  for (v1::ReplayShard& shard : *config.mutable_replay()) {
    shard.set_address(Mark("address", shard.name()));
    ClearListenAddress(shard);
    MarkMetrics(shard.name(), shard.mutable_metrics_address());
    shard.set_data_dir(local_shards ? absl::StrCat("%local%/shards/", shard.name())
                                    : absl::StrCat(shared_dir, "/shards/", shard.name(), "/data"));
  }
  v1::LearnerRole& learner = *config.mutable_learner();
  learner.set_address(Mark("address", "learner"));
  ClearListenAddress(learner);
  MarkMetrics("learner", learner.mutable_metrics_address());
  if (learner.processes() > 1) learner.set_rendezvous_address(Mark("address", "rendezvous"));
  // The reader refuses network sizes beside a checkpoint, which has its own.
  if (!learner.from().empty()) learner.clear_network();
  MarkMetrics("actor", config.mutable_actor()->mutable_metrics_address());
  config.mutable_actor()->set_spool_dir("%spool%");
  MarkMetrics("reanalyse", config.mutable_reanalyse()->mutable_metrics_address());
  std::string text;
  Append(config, "", text);
  return text;
}

}  // namespace mallocmuzero
