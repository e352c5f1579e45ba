// SPDX-License-Identifier: Apache-2.0
// Responses that wait to be taken, in order. A push is seen a cycle later.
// Not handled: a push when full (the engine admits by credit).
module response_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 8,
  localparam int unsigned PlaceW = $clog2(Depth),
  localparam int unsigned CountW = $clog2(Depth + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              push_i,
  input  logic [Width-1:0]  data_i,
  output logic              valid_o,
  input  logic              ready_i,
  output logic [Width-1:0]  data_o,
  output logic [CountW-1:0] count_o
);
  logic [Width-1:0] mem[Depth];
  logic [PlaceW-1:0] read_q, write_q;
  logic [CountW-1:0] count_q;
  logic pop;

  assign valid_o = count_q != '0;
  assign data_o = mem[read_q];
  assign count_o = count_q;
  assign pop = valid_o && ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      if (push_i) write_q <= write_q == PlaceW'(Depth - 1) ? '0 : write_q + PlaceW'(1);
      if (pop) read_q <= read_q == PlaceW'(Depth - 1) ? '0 : read_q + PlaceW'(1);
      count_q <= count_q + CountW'(push_i) - CountW'(pop);
    end
  end
  always_ff @(posedge clk_i) begin
    if (push_i) mem[write_q] <= data_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(push_i && count_q == CountW'(Depth)))
      else $error("a response without a place");
    end
  end
`endif
endmodule
