// SPDX-License-Identifier: Apache-2.0
// The SRAM banks of one half. A bank holds whole buckets, chosen by the low index bits, and takes
// one access a cycle: a request's read, else a write of the store buffer, else a read of the kick
// engine. A granted read's data is there SramLatency cycles after its edge, for one cycle.
// sweep_i clears a row of every bank; nothing else may be asked for meanwhile.
module bank_array #(
  parameter int unsigned BucketsLog2 = 16,
  parameter int unsigned Slots = 4,
  parameter int unsigned Banks = 4,
  parameter int unsigned SramLatency = 1,
  localparam int unsigned BankLog2 = $clog2(Banks),
  localparam int unsigned RowW = BucketsLog2 - BankLog2,
  localparam int unsigned CodeW = lookup_pkg::CodeW,
  localparam int unsigned LineW = Slots * CodeW
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   sweep_i,
  input  logic [RowW-1:0]        sweep_row_i,

  input  logic                   read_i,
  input  logic [BucketsLog2-1:0] read_bucket_i,
  input  logic                   read_take_i,  // when the data is there; zero otherwise
  output logic [LineW-1:0]       read_data_o,

  input  logic                   write_i,
  input  logic [BucketsLog2-1:0] write_bucket_i,
  input  logic [Slots-1:0]       write_slot_i,
  input  logic [CodeW-1:0]       write_code_i,
  output logic                   write_ready_o,

  input  logic                   kick_i,
  input  logic [BucketsLog2-1:0] kick_bucket_i,
  output logic                   kick_ready_o,
  input  logic                   kick_take_i,
  output logic [LineW-1:0]       kick_data_o
);
  // Bank numbers of a request's and a kick's read, on their way to its data. One bit where there
  // is but one bank, so that it can be named.
  localparam int unsigned SelW = BankLog2 == 0 ? 1 : BankLog2;

  logic [SelW-1:0] read_bank, write_bank, kick_bank;
  logic [RowW-1:0] read_row, write_row, kick_row;
  logic [SramLatency*SelW-1:0] read_sel_q, kick_sel_q;
  logic [CodeW-1:0] wdata;
  assign wdata = sweep_i ? '0 : write_code_i;

  assign read_row = read_bucket_i[BankLog2+:RowW];
  assign write_row = write_bucket_i[BankLog2+:RowW];
  assign kick_row = kick_bucket_i[BankLog2+:RowW];
  if (BankLog2 == 0) begin : gen_one_bank
    assign read_bank = '0;
    assign write_bank = '0;
    assign kick_bank = '0;
  end else begin : gen_banks
    assign read_bank = read_bucket_i[SelW-1:0];
    assign write_bank = write_bucket_i[SelW-1:0];
    assign kick_bank = kick_bucket_i[SelW-1:0];
  end

  assign write_ready_o = !sweep_i && !(read_i && read_bank == write_bank);
  assign kick_ready_o = !sweep_i && !(read_i && read_bank == kick_bank) &&
                        !(write_i && write_ready_o && write_bank == kick_bank);

  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    logic reads, writes, kicks;
    logic [LineW-1:0] data, read_data, kick_data;
    assign reads = read_i && read_bank == SelW'(b);
    assign writes = write_i && write_ready_o && write_bank == SelW'(b);
    assign kicks = kick_i && kick_ready_o && kick_bank == SelW'(b);
    sram_1rw #(
      .Depth(1 << RowW),
      .Width(CodeW),
      .Slots(Slots),
      .Latency(SramLatency)
    ) u_sram (
      .clk_i,
      .en_i(rst_ni && (sweep_i || reads || writes || kicks)),
      .we_i(sweep_i || writes),
      .mask_i(sweep_i ? {Slots{1'b1}} : write_slot_i),
      .addr_i(sweep_i ? sweep_row_i : reads ? read_row : writes ? write_row : kick_row),
      .wdata_i(wdata),
      .rdata_o(data)
    );
    // One bank has a request's data, and one a kick's.
    logic has_read, has_kick;
    assign has_read = read_take_i && read_sel_q[(SramLatency-1)*SelW+:SelW] == SelW'(b);
    assign has_kick = kick_take_i && kick_sel_q[(SramLatency-1)*SelW+:SelW] == SelW'(b);
    if (b == 0) begin : gen_first
      assign read_data = has_read ? data : '0;
      assign kick_data = has_kick ? data : '0;
    end else begin : gen_next
      assign read_data = has_read ? data : gen_bank[b-1].read_data;
      assign kick_data = has_kick ? data : gen_bank[b-1].kick_data;
    end
  end
  assign read_data_o = gen_bank[Banks-1].read_data;
  assign kick_data_o = gen_bank[Banks-1].kick_data;

  always_ff @(posedge clk_i) begin
    read_sel_q[0+:SelW] <= read_bank;
    kick_sel_q[0+:SelW] <= kick_bank;
    for (int unsigned i = 1; i < SramLatency; i++) begin
      read_sel_q[i*SelW+:SelW] <= read_sel_q[(i-1)*SelW+:SelW];
      kick_sel_q[i*SelW+:SelW] <= kick_sel_q[(i-1)*SelW+:SelW];
    end
  end
endmodule
