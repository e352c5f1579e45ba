// SPDX-License-Identifier: Apache-2.0
// One-port SRAM with a write mask by slot: the behaviour of a macro, and the only memory of the
// engine. Read data is there Latency cycles after the edge that takes the read, for one cycle.
// Not handled: reset, initial contents, holding read data.
module sram_1rw #(
  parameter int unsigned Depth = 16,  // rows
  parameter int unsigned Width = 144,  // bits of a slot
  parameter int unsigned Slots = 4,
  parameter int unsigned Latency = 1,  // 1 to 3
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   en_i,
  input  logic                   we_i,
  input  logic [Slots-1:0]       mask_i,
  input  logic [AddrW-1:0]       addr_i,
  input  logic [Width-1:0]       wdata_i,  // for every slot of the mask
  output logic [Slots*Width-1:0] rdata_o
);
  logic [Slots*Width-1:0] rdata_q;

  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    logic [Width-1:0] mem[Depth];
    always_ff @(posedge clk_i) begin
      if (en_i && we_i && mask_i[s]) mem[addr_i] <= wdata_i;
      if (en_i && !we_i) rdata_q[s*Width+:Width] <= mem[addr_i];
    end
  end

  if (Latency == 1) begin : gen_direct
    assign rdata_o = rdata_q;
  end else begin : gen_delayed
    logic [(Latency-1)*Slots*Width-1:0] delay_q;
    always_ff @(posedge clk_i) begin
      delay_q[0+:Slots*Width] <= rdata_q;
      for (int unsigned i = 1; i < Latency - 1; i++) begin
        delay_q[i*Slots*Width+:Slots*Width] <= delay_q[(i-1)*Slots*Width+:Slots*Width];
      end
    end
    assign rdata_o = delay_q[(Latency-2)*Slots*Width+:Slots*Width];
  end

  if (Depth < 2 || Latency < 1 || Latency > 3) begin : gen_check
    $fatal(1, "sram_1rw: Depth of 2 and more, Latency of 1 to 3");
  end
endmodule
