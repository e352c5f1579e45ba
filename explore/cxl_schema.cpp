// SPDX-License-Identifier: Apache-2.0
/// Keys of the card's link, its CXL.mem front end and its management.
#include "explore/run_schema.h"

namespace kvplane::explore {
namespace {

using enum NumberClass;

void describe_wire(Table& t, cxl::LinkConfig& c) {
    constexpr std::uint64_t kGiga = 1'000'000'000;
    t.key("rate", c.rate,
          one_of<TransferRate>({{8 * kGiga}, {16 * kGiga}, {32 * kGiga}, {64 * kGiga}}),
          {kChosen, "PCIe 5.0; 68 B flits run at 8, 16 and 32 GT/s, 256 B flits at 32 and 64 GT/s",
           "Bits per second and lane."});
    t.key("width", c.width, one_of<std::uint32_t>({1, 2, 4, 8, 16}, "lanes"),
          {kChosen, "baseline card: x16 Gen5", "Lanes of the link."});
    using cxl::FlitLayout;
    t.key("flit", c.flit,
          choice<FlitLayout>({{"68B", FlitLayout::k68B},
                              {"256B", FlitLayout::k256BStandardHbr},
                              {"256B-low-latency", FlitLayout::k256BLowLatencyHbr},
                              {"256B-pbr", FlitLayout::k256BStandardPbr},
                              {"256B-low-latency-pbr", FlitLayout::k256BLowLatencyPbr}}),
          {kChosen, "CXL 1.1 and 2.0 flit mode; the 256 B layouts are recalled, +-3 %",
           "Size and layout of a flit on the wire."});
    t.key("packing", c.packing,
          choice<cxl::Packing>(
              {{"balanced", cxl::Packing::kBalanced}, {"naive", cxl::Packing::kNaive}}),
          {kChosen, "a balanced packer reaches what slots allow; the naive one is to compare",
           "How messages of 68 B flits are packed into slots."});
    t.key(
        "sync_header_bypass", c.sync_header_bypass, flag(),
        {kChosen, "CXL specification, optional feature", "Leave the 128b/130b sync headers away."});
    t.key("multi_data_header", c.multi_data_header, flag(),
          {kChosen, "CXL specification; devices have a bit to turn it off",
           "Allow two data-response headers in one slot."});
    t.key("skp", c.skp, flag(),
          {kChosen, "PCIe specification: 0.9973 of the wire", "Spend wire on SKP ordered sets."});
    t.key("propagation", c.propagation, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed: PHY and trace of a card, one way",
           "Pins to pins of a CXL.mem message, without protocol layers."});
}

void describe_io(Table& t, cxl::LinkConfig& c) {
    t.key("mps", c.mps, power_of_two<Bytes>({64}, {4096}),
          {kChosen, "PCIe Max_Payload_Size; 256 B is what servers commonly negotiate",
           "Largest payload of one TLP."});
    t.key("mrrs", c.mrrs, power_of_two<Bytes>({64}, {4096}),
          {kChosen, "PCIe Max_Read_Request_Size; 512 B is the reset value",
           "Largest read request of a DMA read."});
    t.key("pasid", c.pasid, flag(),
          {kChosen, "PCIe specification: 4 B", "Prefix the card's DMA requests with a PASID."});
    t.key("io_stream", c.io_stream, one_of<Bytes>({{64}, {66}}),
          {kChosen, "64 B is certain; 66 B is possible and gives 3 % more",
           "Bytes of a 68 B flit that carry TLPs."});
    t.key("arbitration", c.arbitration,
          choice<cxl::Arbitration>(
              {{"flit", cxl::Arbitration::kFlit}, {"tlp", cxl::Arbitration::kTlp}}),
          {kChosen, "CXL ARB/MUX arbitrates by flit", "Where CXL.mem may cut in between CXL.io."});
    const Form<Rate> limit = between<Rate>({1'000'000}, {1'000'000'000'000});
    t.key("push_rate_limit", c.push_rate_limit, limit,
          {kChosen, "experimental: makes movers equal in a comparison",
           "Limits the payload that the card writes to the host; null: the link alone does."});
    t.key("pull_rate_limit", c.pull_rate_limit, limit,
          {kChosen, "experimental: makes movers equal in a comparison",
           "Limits the payload that the host reads from the card; null: the link alone does."});
}

/// What only flits formed one by one know of.
void describe_line(Table& t, cxl::LinkConfig& c) {
    t.key("retry_depth", c.retry_depth, between<std::uint32_t>(8, 4096, "flits"),
          {kAssumed, "assumed: covers a round trip of 68 B flits on x16",
           "Flits that may be unacknowledged."});
    const Form<std::uint32_t> credits = between<std::uint32_t>(1, 4096, "messages");
    t.key("request_credits", c.request_credits, credits,
          {kAssumed, "assumed", "Requests that the card has room for."});
    t.key("write_credits", c.write_credits, credits,
          {kAssumed, "assumed", "Writes that the card has room for."});
    t.key("response_credits", c.response_credits, credits,
          {kAssumed, "assumed", "Completions, and data responses, that the host has room for."});
}

void describe_front_end(Table& t, cxl::FrontEndConfig& c) {
    t.key("lanes", c.lanes, between<std::uint32_t>(1, 64, "lanes"),
          {kAssumed, "assumed", "Pipelines that hand lines to the memory, chosen by address."});
    t.key("interleave", c.interleave, power_of_two<Bytes>({64}, Bytes::from_mib(1)),
          {kAssumed, "assumed: as the DRAM", "Run of addresses that one lane serves."});
    const Form<Time> interval = between<Time>(kShortest, kLongest);
    const std::string source = "assumed: a lane carries 128 GB/s, above link and DRAM";
    t.key("read", c.read, interval,
          {kAssumed, source, "From one read of a lane to its next line."});
    t.key("write", c.write, interval,
          {kAssumed, source, "From one write of a lane to its next line."});
}

void describe_mem(Table& t, cxl::MemTargetConfig& c) {
    t.key("fidelity", c.fidelity,
          choice<cxl::LinkFidelity>(
              {{"burst", cxl::LinkFidelity::kBurst}, {"line", cxl::LinkFidelity::kLine}}),
          {kChosen, "closed form; `line` forms each flit of the host's four-phase accesses",
           "How the host's CXL.mem messages cross the link."});
    t.key("depth", c.depth, between<std::uint32_t>(1, 4096, "requests"),
          {kAssumed, "assumed; an exact queue of 64 lines shows in a published curve of a CXL card",
           "CXL.mem requests in the card, each with its response buffer."});
    t.key("processing", c.processing, between<Time>(kShortest, kLongest),
          {kAssumed, "assumed: protocol layers of an ASIC",
           "Protocol layers of the card, each way."});
    t.group("front_end", [&] { describe_front_end(t, c.front_end); });
    t.key("decoders", c.hdm.decoders, one_of<std::uint32_t>({1, 2, 4, 6, 8, 10}, "decoders"),
          {kChosen, "CXL HDM Decoder Capability; CXL 2.0 devices commonly have 1 to 4",
           "HDM decoders."});
    t.group("dev_load", [&] {
        const Form<Ratio> share = between<Ratio>({1}, {1'000'000});
        const std::string source = "assumed: implementation defined (CXL 2.0, 3.3.2)";
        t.key("optimal", c.dev_load.optimal, between<Ratio>({1}, {500'000}),
              {kAssumed, source, "Occupancy of the fullest queue from which DevLoad is Optimal."});
        t.key("moderate", c.dev_load.moderate, between<Ratio>({1}, {800'000}),
              {kAssumed, source, "The same for Moderate Overload."});
        t.key("severe", c.dev_load.severe, share,
              {kAssumed, source, "The same for Severe Overload."});
        t.key("hysteresis", c.dev_load.hysteresis, share,
              {kAssumed, source, "A level falls only so far below where it begins."});
    });
}

void describe_management(Table& t, management::ManagementConfig& c) {
    t.key("access", c.access, between<Time>(kShortest, kLongest),
          {kMeasured, "MMIO read round trip on Gen5 x16, Tenstorrent p150a (ttkmd_bench)",
           "Round trip of a register read."});
    t.key("media_ready", c.device.media_ready, between<Time>(kShortest, Time::from_s(60)),
          {kAssumed, "assumed", "From power-on until the media are ready."});
    t.key("command", c.device.command, between<Time>(kShortest, Time::from_s(60)),
          {kAssumed, "assumed", "Time of a mailbox command."});
    t.key("payload", c.mailbox.payload, power_of_two<std::uint32_t>(256, 1'048'576, "bytes"),
          {kChosen, "as QEMU's CXL device", "Payload registers of the mailbox."});
    t.key("event_records", c.mailbox.event_records, between<std::uint32_t>(1, 1024, "records"),
          {kAssumed, "assumed", "Records of each event log."});
    t.key("poison_records", c.mailbox.poison_records, between<std::uint32_t>(1, 65'536, "records"),
          {kChosen, "as QEMU's CXL device", "Records of the poison list."});
    t.key("inject_limit", c.mailbox.inject_limit, between<std::uint32_t>(1, 65'535, "lines"),
          {kAssumed, "assumed", "Lines into which poison may be injected."});
}

}  // namespace

void describe_cxl(Table& t, card::CardConfig& c) {
    t.group("link", [&] {
        describe_wire(t, c.link);
        describe_io(t, c.link);
        describe_line(t, c.link);
    });
    t.group("mem", [&] { describe_mem(t, c.mem); });
    t.group("management", [&] { describe_management(t, c.management); });
}

}  // namespace kvplane::explore
