// SPDX-License-Identifier: Apache-2.0
// What an admitted request takes along from S0 to S4, a stage a cycle: nothing stalls. Counts what
// is in flight for the credits of S0. s1_bucket_i, both halves, goes along from S2 on.
module request_pipe #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned SlotW = 2,
  parameter int unsigned Stages = 4,  // S1 is stage 0, S3 and S4 are the last two
  parameter int unsigned IdW = 8,
  localparam int unsigned KeyW = lookup_pkg::KeyW,
  localparam int unsigned EntryW = lookup_pkg::EntryW,
  localparam int unsigned FieldsW = lookup_pkg::FieldsW,
  localparam int unsigned VersionW = lookup_pkg::VersionW,
  localparam int unsigned CountW = 4
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // S0.
  input  logic                     admit_i,
  input  logic                     mutates_i,
  input  logic                     inserts_i,
  input  logic [IdW-1:0]           id_i,
  input  logic [2:0]               op_i,
  input  logic [KeyW-1:0]          key_i,
  input  logic [EntryW-1:0]        entry_i,
  input  logic [FieldsW-1:0]       mask_i,
  input  logic [VersionW-1:0]      version_i,
  input  logic                     expect_i,
  input  logic                     respond_i,
  input  logic                     scrub_half_i,
  input  logic [BucketsLog2-1:0]   scrub_bucket_i,
  input  logic [SlotW-1:0]         scrub_slot_i,

  output logic [Stages-1:0]        valid_o,
  output logic [Stages-1:0]        inserts_o,
  output logic [CountW-1:0]        in_flight_o,
  output logic [CountW-1:0]        mutating_o,
  output logic [CountW-1:0]        inserting_o,

  output logic [KeyW-1:0]          s1_key_o,
  output logic                     s1_scrub_o,
  output logic                     s1_scrub_half_o,
  output logic [BucketsLog2-1:0]   s1_scrub_bucket_o,
  input  logic [2*BucketsLog2-1:0] s1_bucket_i,
  output logic [2*BucketsLog2-1:0] s3_bucket_o,

  output logic [2*BucketsLog2-1:0] s4_bucket_o,
  output logic [IdW-1:0]           s4_id_o,
  output logic [2:0]               s4_op_o,
  output logic [KeyW-1:0]          s4_key_o,
  output logic [EntryW-1:0]        s4_entry_o,
  output logic [FieldsW-1:0]       s4_mask_o,
  output logic [VersionW-1:0]      s4_version_o,
  output logic                     s4_expect_o,
  output logic                     s4_respond_o,  // the last, or only, slot of its request
  output logic                     s4_scrub_half_o,
  output logic [SlotW-1:0]         s4_scrub_slot_o
);
  localparam int unsigned S4 = Stages - 1;
  // From the lowest bit: slot and half of a scrub, then the request.
  localparam int unsigned HalfAt = SlotW;
  localparam int unsigned RespondAt = HalfAt + 1;
  localparam int unsigned ExpectAt = RespondAt + 1;
  localparam int unsigned VersionAt = ExpectAt + 1;
  localparam int unsigned MaskAt = VersionAt + VersionW;
  localparam int unsigned EntryAt = MaskAt + FieldsW;
  localparam int unsigned KeyAt = EntryAt + EntryW;
  localparam int unsigned OpAt = KeyAt + KeyW;
  localparam int unsigned IdAt = OpAt + 3;
  localparam int unsigned PayW = IdAt + IdW;

  logic [Stages-1:0] valid_q, mutates_q, inserts_q;
  logic [PayW-1:0] pay_q[Stages];
  logic [PayW-1:0] last;
  logic [BucketsLog2-1:0] scrub_bucket_q;
  logic [2*BucketsLog2-1:0] bucket_q[Stages-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      mutates_q <= '0;
      inserts_q <= '0;
    end else begin
      valid_q <= {valid_q[Stages-2:0], admit_i};
      mutates_q <= {mutates_q[Stages-2:0], mutates_i};
      inserts_q <= {inserts_q[Stages-2:0], inserts_i};
    end
  end
  always_ff @(posedge clk_i) begin
    if (admit_i) begin
      pay_q[0] <= {id_i, op_i, key_i, entry_i, mask_i, version_i, expect_i, respond_i,
                   scrub_half_i, scrub_slot_i};
      scrub_bucket_q <= scrub_bucket_i;
    end
    for (int unsigned i = 1; i < Stages; i++) begin
      if (valid_q[i-1]) pay_q[i] <= pay_q[i-1];
    end
    if (valid_q[0]) bucket_q[0] <= s1_bucket_i;
    for (int unsigned i = 1; i < Stages - 1; i++) begin
      if (valid_q[i]) bucket_q[i] <= bucket_q[i-1];
    end
  end

  always_comb begin
    in_flight_o = '0;
    mutating_o = '0;
    inserting_o = '0;
    for (int unsigned i = 0; i < Stages; i++) begin
      in_flight_o = in_flight_o + CountW'(valid_q[i]);
      mutating_o = mutating_o + CountW'(mutates_q[i]);
      inserting_o = inserting_o + CountW'(inserts_q[i]);
    end
  end

  assign valid_o = valid_q;
  assign inserts_o = inserts_q;
  assign s1_key_o = pay_q[0][KeyAt+:KeyW];
  assign s1_scrub_o = pay_q[0][OpAt+:3] == lookup_pkg::OpScrub;
  assign s1_scrub_half_o = pay_q[0][HalfAt];
  assign s1_scrub_bucket_o = scrub_bucket_q;
  assign s3_bucket_o = bucket_q[S4-2];
  assign s4_bucket_o = bucket_q[S4-1];
  assign last = pay_q[S4];
  assign s4_id_o = last[IdAt+:IdW];
  assign s4_op_o = last[OpAt+:3];
  assign s4_key_o = last[KeyAt+:KeyW];
  assign s4_entry_o = last[EntryAt+:EntryW];
  assign s4_mask_o = last[MaskAt+:FieldsW];
  assign s4_version_o = last[VersionAt+:VersionW];
  assign s4_expect_o = last[ExpectAt];
  assign s4_respond_o = valid_q[S4] && last[RespondAt];
  assign s4_scrub_half_o = last[HalfAt];
  assign s4_scrub_slot_o = last[SlotW-1:0];
endmodule
