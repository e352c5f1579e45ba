// SPDX-License-Identifier: Apache-2.0
// Counts for how many cycles in a row each waiter has waited, and asks for one request's slot when
// one has for Patience cycles. steal_o depends on waits_i in the same cycle.
module starvation #(
  parameter int unsigned Waiters = 3  // the drains of both halves, the kick engine
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [Waiters-1:0] waits_i,
  input  logic [Waiters-1:0] anew_i,  // another one waits in its place from the next cycle on
  output logic               steal_o
);
  localparam int unsigned PatienceW = $clog2(lookup_pkg::Patience);
  logic [Waiters-1:0] starved;
  logic [Waiters*PatienceW-1:0] waited_q;

  always_comb begin
    for (int unsigned i = 0; i < Waiters; i++) begin
      starved[i] = waits_i[i] &&
                   waited_q[i*PatienceW+:PatienceW] == PatienceW'(lookup_pkg::Patience - 1);
    end
  end
  assign steal_o = |starved;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waited_q <= '0;
    end else begin
      for (int unsigned i = 0; i < Waiters; i++) begin
        waited_q[i*PatienceW+:PatienceW] <=
            waits_i[i] && !anew_i[i] ? waited_q[i*PatienceW+:PatienceW] + PatienceW'(1) : '0;
      end
    end
  end

`ifndef SYNTHESIS
  hot_bank : cover property (@(posedge clk_i) steal_o);
`endif
endmodule
