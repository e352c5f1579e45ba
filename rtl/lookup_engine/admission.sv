// SPDX-License-Identifier: Apache-2.0
// S0: admits by credit, since nothing stalls afterwards. What is not a LOOKUP takes a place of
// either store buffer; while a key is kicked one more place is kept for that. A SCRUB is admitted
// slot by slot and taken with the last; scrub_period_i asks for one every so many requests.
module admission #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Slots = 4,
  parameter int unsigned Stash = 16,
  parameter int unsigned StoreBuffer = 16,
  parameter int unsigned FifoDepth = 8,
  localparam int unsigned SlotW = $clog2(Slots),
  localparam int unsigned BufferCountW = $clog2(StoreBuffer + 1),
  localparam int unsigned StashCountW = $clog2(Stash + 1),
  localparam int unsigned FifoCountW = $clog2(FifoDepth + 1),
  localparam int unsigned CountW = 4
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      enable_i,
  input  logic                      steal_i,
  input  logic [31:0]               scrub_period_i,

  input  logic                      req_valid_i,
  input  logic [2:0]                req_op_i,
  output logic                      req_ready_o,

  input  logic [CountW-1:0]         in_flight_i,
  input  logic [CountW-1:0]         mutating_i,
  input  logic [CountW-1:0]         inserting_i,
  input  logic [FifoCountW-1:0]     fifo_count_i,
  input  logic [2*BufferCountW-1:0] buffer_used_i,
  input  logic [3:0]                buffer_freed_i,  // in this cycle
  input  logic                      kick_busy_i,
  input  logic [StashCountW-1:0]    stash_count_i,
  input  logic                      stash_armed_i,

  output logic                      admit_o,
  output logic                      mutates_o,
  output logic                      inserts_o,
  output logic                      respond_o,
  output logic                      scrub_o,
  output logic                      scrub_half_o,
  output logic [BucketsLog2-1:0]    scrub_bucket_o,
  output logic [SlotW-1:0]          scrub_slot_o,
  output logic                      scrub_due_o,
  output logic [1:0]                buffer_room_o  // without the place kept for a kick
);
  logic scrub_due_q, scrub_now, scrub_last, is_scrub, is_insert, is_lookup;
  logic [SlotW-1:0] scrub_slot_q;
  logic [BucketsLog2:0] scrub_row_q;  // the half on top
  logic [31:0] scrub_count_q;
  assign is_scrub = req_op_i == lookup_pkg::OpScrub;
  assign is_insert = req_op_i == lookup_pkg::OpInsert;
  assign is_lookup = req_op_i == lookup_pkg::OpLookup || req_op_i > lookup_pkg::OpScrub;
  assign scrub_now = scrub_due_q || (req_valid_i && is_scrub);
  assign scrub_last = scrub_slot_q == SlotW'(Slots - 1);

  // A kick has a place of either store buffer to itself.
  logic fifo_credit, stash_credit, admit, accept;
  logic [1:0] buffer_room, buffer_credit;
  for (genvar h = 0; h < 2; h++) begin : gen_credit
    logic [31:0] places;
    assign places = 32'(buffer_used_i[h*BufferCountW+:BufferCountW]) + 32'(mutating_i);
    assign buffer_room[h] = places < StoreBuffer;
    assign buffer_credit[h] = places + 32'(kick_busy_i) < StoreBuffer + 32'(buffer_freed_i[2*h+:2]);
  end
  assign fifo_credit = 32'(fifo_count_i) + 32'(in_flight_i) < FifoDepth;
  // An INSERT waits while the stash may be full when it commits and a kick may still make room.
  assign stash_credit = 32'(stash_count_i) + 32'(inserting_i) < Stash ||
                        (!stash_armed_i && inserting_i == '0);
  assign admit = enable_i && !steal_i && (req_valid_i || scrub_due_q) && fifo_credit &&
                 (scrub_now ? &buffer_credit :
                  is_lookup || (&buffer_credit && (!is_insert || stash_credit)));
  assign req_ready_o = admit && !scrub_due_q && (!is_scrub || scrub_last);
  assign accept = req_valid_i && req_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scrub_slot_q <= '0;
      scrub_row_q <= '0;
      scrub_due_q <= 1'b0;
      scrub_count_q <= '0;
    end else begin
      if (admit && scrub_now) begin
        scrub_slot_q <= scrub_last ? '0 : scrub_slot_q + SlotW'(1);
        if (scrub_last) begin
          scrub_row_q <= scrub_row_q + (BucketsLog2 + 1)'(1);
          scrub_due_q <= 1'b0;
        end
      end
      // Accepted requests are counted, not cycles: an idle engine stays as it is.
      if (scrub_period_i == '0) begin
        scrub_count_q <= '0;
      end else if (accept) begin
        scrub_count_q <= scrub_count_q + 32'd1 >= scrub_period_i ? '0 : scrub_count_q + 32'd1;
        if (scrub_count_q + 32'd1 >= scrub_period_i) scrub_due_q <= 1'b1;
      end
    end
  end

  assign admit_o = admit;
  assign mutates_o = admit && (scrub_now || !is_lookup);
  assign inserts_o = admit && !scrub_now && is_insert;
  assign respond_o = !scrub_due_q && (!is_scrub || scrub_last);
  assign scrub_o = scrub_now;
  assign scrub_half_o = scrub_row_q[BucketsLog2];
  assign scrub_bucket_o = scrub_row_q[BucketsLog2-1:0];
  assign scrub_slot_o = scrub_slot_q;
  assign scrub_due_o = scrub_due_q;
  assign buffer_room_o = buffer_room;

`ifndef SYNTHESIS
  response_back_pressure : cover property (@(posedge clk_i) req_valid_i &&
                                           32'(fifo_count_i) == FifoDepth);
`endif
endmodule
