// SPDX-License-Identifier: Apache-2.0
// One half of the table: its hash (S1), banks (S2), error correction (S3) and store buffer, which
// S3 matches and S4 reads. valid_i says in which stages a request is.
module lookup_half #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Slots = 4,
  parameter int unsigned Banks = 4,
  parameter int unsigned SramLatency = 1,
  parameter int unsigned StoreBuffer = 16,
  localparam int unsigned SlotW = $clog2(Slots),
  localparam int unsigned RowW = BucketsLog2 - $clog2(Banks),
  localparam int unsigned KeyW = lookup_pkg::KeyW,
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned TagW = lookup_pkg::TagW,
  localparam int unsigned CodeW = lookup_pkg::CodeW,
  localparam int unsigned WordW = lookup_pkg::WordW,
  localparam int unsigned CheckW = lookup_pkg::CheckW,
  localparam int unsigned LineW = Slots * CodeW
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           sweep_i,
  input  logic [RowW-1:0]                sweep_row_i,
  input  logic [lookup_pkg::SeedW-1:0]   seed_i,

  // S1: a key, or a row to scrub.
  input  logic                           read_i,
  input  logic [KeyW-1:0]                key_i,
  input  logic                           scrub_i,
  input  logic [BucketsLog2-1:0]         scrub_bucket_i,
  output logic [BucketsLog2-1:0]         bucket_o,

  // S2, S3.
  input  logic                           s2_valid_i,  // the data is there
  input  logic                           s3_valid_i,
  input  logic [BucketsLog2-1:0]         s3_bucket_i,

  // S4: the slots as corrected, and what overrides them.
  input  logic                           s4_valid_i,
  input  logic [TagW-1:0]                s4_tag_i,
  output logic [Slots*EntryW-1:0]        slots_o,
  output logic [Slots-1:0]               bad_o,
  output logic [Slots-1:0]               corrected_0_o,
  output logic [Slots-1:0]               corrected_1_o,
  output logic [Slots-1:0]               kill_o,
  output logic [Slots-1:0]               free_o,
  output logic                           hit_o,
  output logic [SlotW-1:0]               hit_slot_o,
  output logic [EntryW-1:0]              hit_entry_o,

  // Slot writes.
  input  logic                           push_i,
  input  logic [BucketsLog2-1:0]         push_bucket_i,
  input  logic [SlotW-1:0]               push_slot_i,
  input  logic [EntryW-1:0]              push_entry_i,
  output logic [$clog2(StoreBuffer+1)-1:0] used_o,
  output logic [1:0]                     freed_o,
  output logic                           busy_o,
  output logic                           drain_o,
  output logic                           drain_ready_o,
  output logic                           skip_o,
  input  logic [CodeW-1:0]               flip_i,  // of the word that drains in this cycle

  // The kick engine.
  input  logic                           kick_i,
  input  logic                           kick_read_i,
  output logic                           kick_ready_o,
  input  logic                           kick_take_i,
  input  logic [BucketsLog2-1:0]         kick_bucket_i,
  output logic [LineW-1:0]               kick_data_o,
  output logic [Slots-1:0]               kick_kill_o
);
  logic [BucketsLog2-1:0] hash, drain_bucket;
  logic [LineW-1:0] read_data, data_q;
  logic [SlotW-1:0] drain_slot;
  logic [Slots-1:0] drain_mask;
  logic [EntryW-1:0] drain_entry;
  logic [2*CheckW-1:0] drain_check;
  logic [StoreBuffer-1:0] match, match_q;
  logic [Slots*EntryW-1:0] slots, slots_q;
  logic [Slots-1:0] bad, bad_q, corrected_0, corrected_1, corrected_0_q, corrected_1_q;

  toeplitz #(
    .TagUsed(KeyW - BucketsLog2),
    .HashW(BucketsLog2)
  ) u_hash (
    .tag_i(key_i[KeyW-1:BucketsLog2]),
    .seed_i,
    .hash_o(hash)
  );
  assign bucket_o = scrub_i ? scrub_bucket_i : key_i[BucketsLog2-1:0] ^ hash;

  always_comb begin
    for (int unsigned s = 0; s < Slots; s++) drain_mask[s] = drain_slot == SlotW'(s);
  end
  secded_enc u_check_0 (
    .word_i(drain_entry[0+:WordW]),
    .check_o(drain_check[0+:CheckW])
  );
  secded_enc u_check_1 (
    .word_i(drain_entry[WordW+:WordW]),
    .check_o(drain_check[CheckW+:CheckW])
  );
  bank_array #(
    .BucketsLog2(BucketsLog2),
    .Slots(Slots),
    .Banks(Banks),
    .SramLatency(SramLatency)
  ) u_banks (
    .clk_i,
    .rst_ni,
    .sweep_i,
    .sweep_row_i,
    .read_i,
    .read_bucket_i(bucket_o),
    .read_take_i(s2_valid_i),
    .read_data_o(read_data),
    .write_i(drain_o),
    .write_bucket_i(drain_bucket),
    .write_slot_i(drain_mask),
    .write_code_i({drain_check, drain_entry} ^ flip_i),
    .write_ready_o(drain_ready_o),
    .kick_i(kick_read_i),
    .kick_bucket_i,
    .kick_ready_o,
    .kick_take_i,
    .kick_data_o
  );
  store_buffer #(
    .BucketsLog2(BucketsLog2),
    .Slots(Slots),
    .Depth(StoreBuffer),
    .SramLatency(SramLatency)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .push_i,
    .push_bucket_i,
    .push_slot_i,
    .push_entry_i,
    .used_o,
    .freed_o,
    .drain_o,
    .drain_bucket_o(drain_bucket),
    .drain_slot_o(drain_slot),
    .drain_entry_o(drain_entry),
    .drain_ready_i(drain_ready_o),
    .skip_o,
    .match_i(s3_valid_i),
    .match_bucket_i(s3_bucket_i),
    .match_o(match),
    .forward_i(s4_valid_i),
    .forward_match_i(match_q),
    .forward_tag_i(s4_tag_i),
    .kill_o,
    .free_o,
    .hit_o,
    .hit_slot_o,
    .hit_entry_o,
    .kick_i,
    .kick_bucket_i,
    .kick_kill_o,
    .busy_o
  );

  // S2 to S3: the value read is captured the cycle after the read. S3: corrected.
  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    logic bad_0, bad_1;
    secded_dec u_word_0 (
      .en_i(s3_valid_i),
      .word_i(data_q[s*CodeW+:WordW]),
      .check_i(data_q[s*CodeW+EntryW+:CheckW]),
      .word_o(slots[s*EntryW+:WordW]),
      .corrected_o(corrected_0[s]),
      .bad_o(bad_0)
    );
    secded_dec u_word_1 (
      .en_i(s3_valid_i),
      .word_i(data_q[s*CodeW+WordW+:WordW]),
      .check_i(data_q[s*CodeW+EntryW+CheckW+:CheckW]),
      .word_o(slots[s*EntryW+WordW+:WordW]),
      .corrected_o(corrected_1[s]),
      .bad_o(bad_1)
    );
    assign bad[s] = bad_0 || bad_1;
  end
  always_ff @(posedge clk_i) begin
    if (s2_valid_i) data_q <= read_data;
    if (s3_valid_i) begin
      slots_q <= slots;
      bad_q <= bad;
      corrected_0_q <= corrected_0;
      corrected_1_q <= corrected_1;
      match_q <= match;
    end
  end
  assign slots_o = slots_q;
  assign bad_o = bad_q;
  assign corrected_0_o = corrected_0_q;
  assign corrected_1_o = corrected_1_q;
endmodule
