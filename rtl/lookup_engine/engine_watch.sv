// SPDX-License-Identifier: Apache-2.0
// What simulation watches of a lookup_engine, by the names that it has there: the caller's rules,
// that a half is written once a cycle, and what must have happened in a set of tests, a point a
// hazard.
`ifndef SYNTHESIS
module engine_watch #(
  parameter int unsigned SlotsBoth = 8,  // of a bucket of either half
  parameter int unsigned Stages = 4,
  parameter int unsigned IdW = 8,
  parameter int unsigned BadW = 4,
  localparam int unsigned S4 = Stages - 1
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic                            req_valid_i,
  input logic                            req_ready_o,
  input logic [2:0]                      req_op_i,
  input logic [IdW-1:0]                  req_id_i,
  input logic [lookup_pkg::KeyW-1:0]     req_key_i,
  input logic [lookup_pkg::EntryW-1:0]   req_entry_i,
  input logic [lookup_pkg::FieldsW-1:0]  req_mask_i,
  input logic [1:0]                      commit_write,
  input logic [1:0]                      kick_push,
  input logic                            kick_busy,
  input logic                            kick_swap,
  input logic [Stages-1:0]               valid,
  input logic [Stages-1:0]               inserts_in,
  input logic [2:0]                      s4_op,
  input logic [2:0]                      s4_status,
  input logic [SlotsBoth-1:0]            s4_kill,
  input logic [1:0]                      s4_hit,
  input logic [BadW-1:0]                 bad_slots,
  input logic                            stash_hit,
  input logic                            stash_update,
  input logic                            stash_remove
);
  logic stalled_q, commits;
  logic [IdW+3+lookup_pkg::KeyW+lookup_pkg::EntryW+lookup_pkg::FieldsW-1:0] request, request_q;
  assign request = {req_id_i, req_op_i, req_key_i, req_entry_i, req_mask_i};
  assign commits = valid[S4];
  always_ff @(posedge clk_i) begin
    stalled_q <= rst_ni && req_valid_i && !req_ready_o;
    request_q <= request;
    if (rst_ni) begin
      assert (!stalled_q || (req_valid_i && request_q == request))
      else $error("a request changed before it was taken");
      assert (!(req_valid_i && (req_op_i == lookup_pkg::OpInsert ||
                                req_op_i == lookup_pkg::OpUpdate && req_mask_i[0]) &&
                req_entry_i[lookup_pkg::StateLsb+:lookup_pkg::StateW] == '0))
      else $error("an entry made free by INSERT or UPDATE");
      assert (!(|(commit_write & kick_push)))
      else $error("two writes of one half in a cycle");
    end
  end

  key_in_flight : cover property (@(posedge clk_i) kick_swap && commits);
  read_write_gap : cover property (@(posedge clk_i) commits && |s4_kill);
  two_inserts_in_flight : cover property (@(posedge clk_i) inserts_in[S4] && inserts_in[S4-1]);
  update_during_kick : cover property (@(posedge clk_i) commits && kick_busy && stash_update);
  delete_during_kick : cover property (@(posedge clk_i) commits && kick_busy && stash_remove &&
                                       s4_op == lookup_pkg::OpDelete);
  evict_during_kick : cover property (@(posedge clk_i) commits && kick_busy && stash_remove &&
                                      s4_op == lookup_pkg::OpEvict);
  stash_hit_while_kicking : cover property (@(posedge clk_i) commits && stash_hit && kick_busy);
  stash_full_answer : cover property (@(posedge clk_i) commits && s4_status == lookup_pkg::StFull);
  forwarded : cover property (@(posedge clk_i) commits && |s4_hit);
  error_in_request : cover property (@(posedge clk_i) commits && bad_slots != '0);
endmodule
`endif
