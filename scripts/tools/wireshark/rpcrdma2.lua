-- SPDX-License-Identifier: GPL-2.0
--
-- Dissector of RPC-over-RDMA, versions 1 (RFC 8166) and 2
-- (draft-ietf-nfsv4-rpcrdma-version-two-01 as Documentation/wire-profile.rst resolves it),
-- for Wireshark and tshark 4.0 and later, on RoCE, InfiniBand and iWARP.
--
-- Two steps handle a packet. Its state is computed when the packet is seen first, and kept
-- as a record of its frame: what was reassembled, what it answers, which rules it broke. The
-- record is shown each time the packet is dissected, with the fields read from its bytes.
--
-- A flow is one direction of a connection. The sender of a flow owns the memory in the chunk
-- lists that it sends; the other flow's Reads and Writes access that memory. Without the
-- exchange of the connection manager in the capture, only the destination of a packet is
-- known: the two flows are paired by a handle, a Read's PSN or an xid.

local proto = Proto("rpcrdma2", "RPC-over-RDMA Version 2")

proto.prefs.ports = Pref.uint("Port", 20049,
	"Connections to this port are RPC-over-RDMA, whatever their first message is")
proto.prefs.version1 = Pref.bool("Decode version 1, too", true,
	"Otherwise it is left to the dissector \"rpcordma\"")

---------------------------------------------------------------------------
-- Names

local HTYPES = {
	[0] = "RDMA2_MSG", [1] = "RDMA2_NOMSG", [3] = "RDMA2_DONE", [4] = "RDMA2_ERROR",
	[5] = "RDMA2_CONNPROP",
}
local PROCS = {
	[0] = "RDMA_MSG", [1] = "RDMA_NOMSG", [2] = "RDMA_MSGP", [3] = "RDMA_DONE",
	[4] = "RDMA_ERROR",
}
local ERRORS = {
	[1] = "RDMA2_ERR_VERS", [2] = "RDMA2_ERR_BAD_XDR", [3] = "RDMA2_ERR_BAD_PROPVAL",
	[4] = "RDMA2_ERR_INVAL_HTYPE", [5] = "RDMA2_ERR_INVAL_CONT",
	[6] = "RDMA2_ERR_READ_CHUNKS", [7] = "RDMA2_ERR_WRITE_CHUNKS",
	[8] = "RDMA2_ERR_SEGMENTS", [9] = "RDMA2_ERR_WRITE_RESOURCE",
	[10] = "RDMA2_ERR_REPLY_RESOURCE", [100] = "RDMA2_ERR_SYSTEM",
}
local ERRORS1 = { [1] = "ERR_VERS", [2] = "ERR_CHUNK" }
local REPLY_READ, REASSEMBLY = 0xF0000001, 0xF0000002
local PROPS = {
	[1] = "Maximum Send Size", [2] = "Receive Buffer Size", [3] = "Maximum Segment Size",
	[4] = "Maximum Segment Count", [5] = "Reverse-Direction Support",
	[6] = "Host Authentication", [REPLY_READ] = "Reply Read", [REASSEMBLY] = "Reassembly",
}
local HOSTAUTH = 6
local AUTH_MECHANISMS = { [1] = "pre-shared secret" }
local AUTH_HELLO, AUTH_CHALLENGE, AUTH_PROOF, AUTH_FAILURE = 1, 2, 3, 4
local AUTH_TYPES = {
	[AUTH_HELLO] = "HELLO", [AUTH_CHALLENGE] = "CHALLENGE", [AUTH_PROOF] = "PROOF",
	[AUTH_FAILURE] = "FAILURE",
}
local AUTH_HASHES = { [1] = "SHA-256", [2] = "SHA-384", [3] = "SHA-512" }
local AUTH_GROUPS = {
	[0] = "none", [1] = "ffdhe2048", [2] = "ffdhe3072", [3] = "ffdhe4096", [4] = "ffdhe6144",
	[5] = "ffdhe8192",
}
local AUTH_REASONS = {
	[1] = "identity or secret", [2] = "authentication is required",
	[3] = "no algorithm in common", [4] = "a message is not valid",
	[5] = "not available at present",
}
local REVERSE = { [0] = "NONE", [1] = "SIMPLE", [2] = "CONT", [3] = "GENL" }

local MSG, NOMSG, MSGP, DONE, ERROR, CONNPROP = 0, 1, 2, 3, 4, 5
local RESPONSE, MORE, TPMORE = 1, 2, 4
local MIN_INLINE, DEFAULT_INLINE = 1024, 4096
local MAX_CREDIT = 65535
local PRIVATE_MAGIC = 0xf6ab0e18

---------------------------------------------------------------------------
-- Fields

local fields, f = {}, {}

local function field(name, kind, title, ...)
	local made = ProtoField[kind]("rpcrdma2." .. name, title, ...)
	fields[#fields + 1] = made
	f[name] = made
	return made
end

field("xid", "uint32", "XID", base.HEX)
field("version", "uint32", "Version")
field("credit", "uint32", "Credits")
field("proc", "uint32", "Header type", base.DEC, HTYPES)
f.proc1 = ProtoField.uint32("rpcrdma2.proc", "Procedure", base.DEC, PROCS)
fields[#fields + 1] = f.proc1
field("flags", "uint32", "Flags", base.HEX)
field("flags.response", "bool", "RESPONSE", 32, nil, RESPONSE)
field("flags.more", "bool", "MORE", 32, nil, MORE)
field("flags.tpmore", "bool", "TPMORE", 32, nil, TPMORE)
field("flags.reserved", "uint32", "Reserved", base.HEX, nil, 0xfffffff8)
field("received", "uint32", "Received")
field("limit", "uint32", "Limit (received + credits)")
field("grant", "bool", "Credit grant")
field("inv_handle", "uint32", "Handle that may be invalidated", base.HEX)
field("invalidated", "uint32", "Handle invalidated by this Send", base.HEX)
field("reads", "none", "Read list")
field("read_list", "uint32", "Segments in the Read list")
field("writes", "none", "Write list")
field("write_list", "uint32", "Chunks in the Write list")
field("reply_chunk", "bool", "Reply chunk")
field("read", "none", "Read segment")
field("write", "none", "Write chunk")
field("reply", "none", "Reply chunk")
field("position", "uint32", "Position")
field("segments", "uint32", "Segments")
field("segment", "none", "Segment")
field("segment.handle", "uint32", "Handle", base.HEX)
field("segment.length", "uint32", "Length")
field("segment.offset", "uint64", "Offset", base.HEX)
field("align", "uint32", "Alignment")
field("thresh", "uint32", "Threshold")
field("props", "uint32", "Properties")
field("prop", "none", "Property")
field("prop.id", "uint32", "Property", base.HEX, PROPS)
field("prop.length", "uint32", "Length")
field("prop.data", "bytes", "Data")
field("prop.send_size", "uint32", "Maximum Send Size")
field("prop.receive_size", "uint32", "Receive Buffer Size")
field("prop.segment_size", "uint32", "Maximum Segment Size")
field("prop.segment_count", "uint32", "Maximum Segment Count")
field("prop.reverse", "uint32", "Reverse-Direction Support", base.DEC, REVERSE)
field("prop.reply_read", "uint32", "Reply Read", base.HEX)
field("prop.reply_read.pull", "bool", "Can pull Replies", 32, nil, 1)
field("prop.reply_read.provide", "bool", "Provides Replies to pull", 32, nil, 2)
field("prop.reassembly", "uint32", "Reassembly")
field("auth.mechanism", "uint32", "Mechanism", base.DEC, AUTH_MECHANISMS)
field("auth.type", "uint32", "Message of the handshake", base.DEC, AUTH_TYPES)
field("auth.hashes", "uint32", "Hash functions", base.HEX)
for i, name in ipairs(AUTH_HASHES) do
	field("auth.hashes." .. name:lower():gsub("-", ""), "bool", name, 32, nil, 2 ^ i)
end
field("auth.groups", "uint32", "Diffie-Hellman groups", base.HEX)
for i = 0, 3 do
	field("auth.groups." .. AUTH_GROUPS[i], "bool", AUTH_GROUPS[i], 32, nil, 2 ^ i)
end
field("auth.hash", "uint32", "Hash function", base.DEC, AUTH_HASHES)
field("auth.group", "uint32", "Diffie-Hellman group", base.DEC, AUTH_GROUPS)
field("auth.nonce", "bytes", "Nonce")
field("auth.identity", "string", "Identity")
field("auth.proof", "bytes", "Proof")
field("auth.public", "bytes", "Public value")
field("auth.reason", "uint32", "Reason", base.DEC, AUTH_REASONS)
field("error", "uint32", "Error", base.DEC, ERRORS)
f.error1 = ProtoField.uint32("rpcrdma2.error", "Error", base.DEC, ERRORS1)
fields[#fields + 1] = f.error1
field("error.lowest", "uint32", "Lowest version")
field("error.highest", "uint32", "Highest version")
field("error.max_chunks", "uint32", "Maximum chunks")
field("error.max_segments", "uint32", "Maximum segments")
field("error.chunk", "uint32", "Index of the chunk")
field("error.length", "uint32", "Length needed")
field("payload", "none", "Payload")
field("payload.length", "uint32", "Payload length")
field("format", "string", "Format")
field("call", "bool", "Call")
field("call_in", "framenum", "The Call is in frame", base.NONE, frametype.REQUEST)
field("reply_in", "framenum", "The Reply is in frame", base.NONE, frametype.RESPONSE)
field("reassembled_in", "framenum", "Reassembled in frame", base.NONE)
field("fragment", "framenum", "Fragment in frame", base.NONE)
field("reassembled.length", "uint32", "Reassembled length")
field("rpc_in", "framenum", "The RPC message is complete in frame", base.NONE)
field("data", "none", "RDMA data")
field("data.message", "framenum", "Chunk of the message in frame", base.NONE)
field("data.offset", "uint32", "Offset in the segment")
field("data.length", "uint32", "Bytes")
field("data.missing", "uint32", "Bytes that were not captured")
field("cm.magic", "uint32", "Format identifier", base.HEX)
field("cm.version", "uint8", "Version")
field("cm.remote_invalidation", "bool", "Remote invalidation", 8, nil, 1)
field("cm.send_size", "uint32", "Send size")
field("cm.receive_size", "uint32", "Receive size")

proto.fields = fields

local ei = {
	malformed = ProtoExpert.new("rpcrdma2.malformed", "Not valid XDR",
		expert.group.MALFORMED, expert.severity.ERROR),
	forbidden = ProtoExpert.new("rpcrdma2.forbidden", "Not allowed",
		expert.group.PROTOCOL, expert.severity.WARN),
	credits = ProtoExpert.new("rpcrdma2.credits", "Credits",
		expert.group.SEQUENCE, expert.severity.WARN),
	unmatched = ProtoExpert.new("rpcrdma2.unmatched", "Matches nothing",
		expert.group.SEQUENCE, expert.severity.NOTE),
	duplicate = ProtoExpert.new("rpcrdma2.retransmission", "Retransmitted packet",
		expert.group.SEQUENCE, expert.severity.NOTE),
	incomplete = ProtoExpert.new("rpcrdma2.incomplete", "Not all was captured",
		expert.group.REASSEMBLE, expert.severity.NOTE),
	refused = ProtoExpert.new("rpcrdma2.refused", "The peer refused a message",
		expert.group.RESPONSE_CODE, expert.severity.NOTE),
}
proto.experts = {
	ei.malformed, ei.forbidden, ei.credits, ei.unmatched, ei.duplicate, ei.incomplete,
	ei.refused,
}

-- Fields of the lower layers, some of which are missing in some versions of Wireshark.
local function lower(name)
	local ok, extractor = pcall(Field.new, name)
	if not ok then
		return function() end
	end
	-- A frame may have several messages (iWARP): the last is the one being dissected.
	return function()
		local all = { extractor() }
		return all[#all], #all
	end
end

local ib = {
	opcode = lower("infiniband.bth.opcode"),
	padcnt = lower("infiniband.bth.padcnt"),
	psn = lower("infiniband.bth.psn"),
	handle = lower("infiniband.reth.r_key"),
	address = lower("infiniband.reth.va"),
	length = lower("infiniband.reth.dmalen"),
	ieth = lower("infiniband.ieth"),
	req_port = lower("infiniband.cm.req.serviceid.dport"),
	req_qpn = lower("infiniband.cm.req.localqpn"),
	rep_qpn = lower("infiniband.cm.rep.localqpn"),
	attribute = lower("infiniband.mad.attributeid"),
	transaction = lower("infiniband.mad.transactionid"),
}
local iwarp = {
	opcode = lower("iwarp_rdma.opcode"),
	last = lower("iwarp_ddp.last_flag"),
	msn = lower("iwarp_ddp.msn"),
	mo = lower("iwarp_ddp.mo"),
	stag = lower("iwarp_ddp.stag"),
	to = lower("iwarp_ddp.tagged_offset"),
	sink = lower("iwarp_rdma.sinkstag"),
	sink_to = lower("iwarp_rdma.sinkto"),
	size = lower("iwarp_rdma.rdmardsz"),
	source = lower("iwarp_rdma.srcstag"),
	source_to = lower("iwarp_rdma.srcto"),
	invalidated = lower("iwarp_rdma.inval_stag"),
}

local function value(extractor)
	local info = extractor()
	return info and info.value
end

---------------------------------------------------------------------------
-- State of a capture file

local flows		-- by destination, see flow_to()
local unpaired		-- flows whose other direction is not known
local records		-- by frame and message
local announced		-- destinations that the connection manager named

local function forget_all()
	flows, unpaired, records, announced = {}, {}, {}, {}
end
proto.init = forget_all
forget_all()

local UNKNOWN_PORT = 0xffffffff

local function word_of(s, at)		-- XDR word of a string, at a byte offset
	local a, b, c, d = s:byte(at + 1, at + 4)
	return ((a * 256 + b) * 256 + c) * 256 + d
end

local function roundup4(n)
	return n + (-n) % 4
end

local function serial(a, b)		-- a - b, as serial numbers of 32 bits
	local d = (a - b) % 4294967296
	return d >= 2147483648 and d - 4294967296 or d
end

local function zeros(n)
	return string.rep("\0", n)
end

-- Return the payload of a packet as a string, with zeros for bytes that were not captured.
local function bytes_of(tvb, length)
	local captured = math.min(tvb:captured_len(), length)
	local s = captured > 0 and tvb:raw(0, captured) or ""
	return s .. zeros(length - captured), length - captured
end

local function note(rec, kind, text)
	rec.notes = rec.notes or {}
	rec.notes[#rec.notes + 1] = { kind, text }
end

local function new_flow(key, src, dst, sport, dport)
	local flow = {
		key = key, src = src, dst = dst,
		sport = sport, dport = dport,	-- what the RPC dissector is shown
		calls = {}, exposed = {},	-- RPCs that this flow's sender began, by xid
		segments = {},			-- this sender's memory, by handle
		seen = {}, top = nil,		-- extended PSNs
		sends = {},			-- packets of Sends, by extended PSN or MSN
		reads = {}, writes = {},	-- RDMA that this flow's sender began
		known = announced[key] ~= nil,
		whole = announced[key] ~= nil,	-- captured from the beginning
		sent = 0,
		props = {},
	}
	flows[key] = flow
	return flow
end

local function forget(key)
	local flow = flows[key]
	if not flow then return end
	flows[key] = nil
	unpaired[flow] = nil
	if flow.peer then
		flows[flow.peer.key] = nil
	end
end

local function pair(a, b)
	if a.peer or b.peer or a == b then return end
	a.peer, b.peer = b, a
	unpaired[a], unpaired[b] = nil, nil
	a.known = a.known or b.known
	b.known = a.known
	-- Calls that were displayed before keep their ports.
	if next(b.calls) then a, b = b, a end
	b.sport, b.dport = a.dport, a.sport
end

-- The flow of a packet to a queue pair
local function flow_to(pinfo)
	local src, dst = tostring(pinfo.src), tostring(pinfo.dst)
	local key = dst .. "/" .. pinfo.dst_port
	local flow = flows[key]
	if not flow then
		flow = new_flow(key, src, dst, pinfo.src_port, pinfo.dst_port)
		unpaired[flow] = true
	end
	if not flow.peer and pinfo.src_port ~= UNKNOWN_PORT then
		key = src .. "/" .. pinfo.src_port
		pair(flow, flows[key] or new_flow(key, dst, src, pinfo.dst_port, pinfo.src_port))
	end
	return flow
end

-- Find the other direction of this flow: the only one for which found() is true.
local function look_for_peer(flow, found)
	local candidate
	if flow.peer then return end
	for other in pairs(unpaired) do
		if other ~= flow and other.src == flow.dst and other.dst == flow.src and
		   found(other) then
			if candidate then return end
			candidate = other
		end
	end
	if candidate then pair(flow, candidate) end
end

---------------------------------------------------------------------------
-- Chunks: segments of memory, and the data that RDMA moves

local function find_segment(owner, handle, address)
	local list = owner.segments[handle]
	if not list then return end
	for i = #list, 1, -1 do
		local s = list[i]
		if address >= s.offset then
			local at = (address - s.offset):tonumber()
			if at < s.length or (at == 0 and s.length == 0) then
				return s, at
			end
		end
	end
end

local function expose(owner, message, segment)
	segment.message, segment.pieces, segment.got = message, {}, 0
	local list = owner.segments[segment.handle] or {}
	owner.segments[segment.handle] = list
	list[#list + 1] = segment
	-- Some peers reuse a handle.
	if #list > 8 then table.remove(list, 1) end
end

-- The RPC has ended: the peer must not access its memory any more.
local function conceal(owner, message)
	for _, segment in ipairs(message.all or {}) do
		local list = owner.segments[segment.handle] or {}
		for i = #list, 1, -1 do
			if list[i] == segment then table.remove(list, i) end
		end
		if #list == 0 then owner.segments[segment.handle] = nil end
		segment.pieces = {}
	end
end

-- Return the first bytes of a segment, and how many of them were not captured.
local function content(segment, length)
	local at, out, missing = 0, {}, segment.cut or 0
	local offsets = {}
	for offset in pairs(segment.pieces) do offsets[#offsets + 1] = offset end
	table.sort(offsets)
	for _, offset in ipairs(offsets) do
		local s = segment.pieces[offset]
		if offset > at then
			local gap = math.min(offset, length) - at
			if gap > 0 then
				out[#out + 1] = zeros(gap)
				missing, at = missing + gap, at + gap
			end
		end
		if offset < at then s = s:sub(at - offset + 1) end
		out[#out + 1] = s
		at = at + #s
	end
	if at < length then
		out[#out + 1] = zeros(length - at)
		missing = missing + length - at
	end
	return table.concat(out):sub(1, length), missing
end

local function chunk_content(segments, lengths)
	local out, missing = {}, 0
	for i, segment in ipairs(segments) do
		local s, lost = content(segment, lengths and lengths[i] or segment.length)
		out[#out + 1], missing = s, missing + lost
	end
	return table.concat(out), missing
end

-- The Payload stream with reduced items put back: items of position, data.
local function put_back(stream, items)
	local out, at, inserted = {}, 0, 0
	for _, item in ipairs(items) do
		local position = item.position - inserted
		if position >= at and position <= #stream then
			out[#out + 1] = stream:sub(at + 1, position)
			out[#out + 1] = item.data .. zeros((-#item.data) % 4)
			inserted = inserted + roundup4(#item.data)
			at = position
		end
	end
	out[#out + 1] = stream:sub(at + 1)
	return table.concat(out)
end

---------------------------------------------------------------------------
-- The Positions of the results in Write chunks, which a Reply does not contain.

local NFS = 100003

-- Return the length of the RPC header of an accepted and successful Reply.
local function reply_header(s)
	if #s < 24 or word_of(s, 4) ~= 1 or word_of(s, 8) ~= 0 then return end
	local verifier = roundup4(word_of(s, 16))
	if #s < 24 + verifier or word_of(s, 20 + verifier) ~= 0 then return end
	return 24 + verifier
end

local function walker(s, at)
	local w = { at = at }
	function w.has(n) return w.at + n <= #s end
	function w.word()
		if not w.has(4) then return end
		w.at = w.at + 4
		return word_of(s, w.at - 4)
	end
	function w.skip(n) w.at = w.at + n end
	function w.opaque() w.skip(roundup4(w.word() or 0)) end
	return w
end

-- The result at w: reduced if its chunk was used and its length is the chunk's.
local function result_at(w, items, lengths)
	local chunk = #items.order + 1
	local length = w.word()
	if not length or chunk > #lengths then return false end
	items.order[chunk] = true
	if lengths[chunk] > 0 and lengths[chunk] == length then
		items[#items + 1] = { chunk = chunk, position = w.at + items.reduced }
		items.reduced = items.reduced + roundup4(length)
	else
		w.skip(roundup4(length))
	end
	return true
end

local NFS4_PLAIN = {		-- operations whose result is a status
	[5] = 0, [7] = 0, [13] = 0, [15] = 0, [16] = 0, [22] = 0, [23] = 0, [24] = 0, [31] = 0,
	[32] = 0, [37] = 0, [57] = 0, [58] = 0,
	[3] = 8, [4] = 16, [53] = 36, [29] = 20, [38] = 12,
}

local function nfs4_results(w, items, lengths)
	w.word()				-- status
	w.opaque()				-- tag
	local count = w.word()
	while count and count > 0 do
		count = count - 1
		local op, status = w.word(), w.word()
		if not status then return false end
		if status ~= 0 then return true end
		if NFS4_PLAIN[op] then
			w.skip(NFS4_PLAIN[op])
		elseif op == 9 then		-- GETATTR
			w.skip(4 * (w.word() or 0))
			w.opaque()
		elseif op == 10 then		-- GETFH
			w.opaque()
		elseif op == 25 then		-- READ
			w.skip(4)
			if not result_at(w, items, lengths) then return false end
		elseif op == 27 then		-- READLINK
			if not result_at(w, items, lengths) then return false end
		else
			return false
		end
	end
	return true
end

-- Return the items of a Reply's stream: for each the chunk's index and the Position.
local function locate_results(stream, call, lengths)
	local items = { order = {}, reduced = 0 }
	local start = reply_header(stream)
	local used, last = 0, nil
	for i, length in ipairs(lengths) do
		if length > 0 then used, last = used + 1, i end
	end
	if used == 0 then return items end
	if start and call and call.program == NFS then
		local w = walker(stream, start)
		local done = false
		if call.program_version == 4 and call.procedure == 1 then
			done = nfs4_results(w, items, lengths)
		elseif w.word() == 0 then
			if call.program_version == 3 then
				if (w.word() or 0) ~= 0 then w.skip(84) end
				if call.procedure == 6 then w.skip(8) end
			else
				w.skip(call.procedure == 6 and 68 or 0)
			end
			done = result_at(w, items, lengths)
		end
		if done and #items == used then return items end
		items = { order = {}, reduced = 0 }
	end
	-- Another program, or a Call that was not seen: one result, after the last word
	-- that is its length.
	if used == 1 then
		for at = #stream - 4, start or 0, -4 do
			if at >= 0 and word_of(stream, at) == lengths[last] then
				items[1] = { chunk = last, position = at + 4 }
				return items
			end
		end
	end
	return items
end

---------------------------------------------------------------------------
-- RPC messages

-- Record the program and procedure of the Call, from which the Positions of its results follow.
local function read_call(call, s)
	if #s >= 24 and word_of(s, 4) == 0 then
		call.program, call.program_version, call.procedure =
			word_of(s, 12), word_of(s, 16), word_of(s, 20)
	end
end

local function deliver(rec, flow, data, what)
	rec.delivered = rec.delivered or {}
	table.insert(rec.delivered, { flow = flow, data = data, what = what })
end

-- Deliver a message whose Read chunks belong to the flow it was sent on.
local function deliver_read(rec, flow, message, frame)
	local items, missing, nothing = {}, 0, false
	local stream = message.stream or ""
	if message.delivered then return end
	message.delivered = frame
	for _, chunk in ipairs(message.reads) do
		local data, lost = chunk_content(chunk.segments)
		missing = missing + lost
		if message.special and chunk.position == 0 then
			stream, nothing = data, lost >= #data
		else
			items[#items + 1] = { position = chunk.position, data = data }
		end
	end
	local data = put_back(stream, items)
	if missing > 0 then
		rec.missing = (rec.missing or 0) + missing
	end
	if nothing then return end
	if message.call then read_call(message, data) end
	rec.message_frame = message.frame
	message.record.rpc_in = frame
	deliver(rec, flow, data, message.call and "Call" or "Reply")
end

local function is_complete(message)
	for _, chunk in ipairs(message.reads) do
		for _, segment in ipairs(chunk.segments) do
			if segment.got < segment.length then return false end
		end
	end
	return true
end

-- RDMA data of a flow's own Read or Write: store it where it belongs.
local function place(rec, frame, owner, handle, address, data, cut, deliver_on)
	local segment, at = find_segment(owner, handle, address)
	if not segment then
		note(rec, "unmatched", "Memory of no chunk that was captured")
		return
	end
	rec.data = { message = segment.message.frame, offset = at, length = #data }
	if not segment.pieces[at] or #segment.pieces[at] < #data then
		segment.got = segment.got + #data - #(segment.pieces[at] or "")
		segment.pieces[at] = data
		segment.cut = (segment.cut or 0) + cut
	end
	local message = segment.message
	if deliver_on and message.reads and #message.reads > 0 and is_complete(message) then
		deliver_read(rec, deliver_on, message, frame)
	end
end

---------------------------------------------------------------------------
-- Parsing. A parser adds what it reads to the tree, and to the table m.

local function reader(tvb, length, captured)
	return { tvb = tvb, at = 0, length = length, captured = captured }
end

local function has(r, n)
	return r.at + n <= r.length
end

local function word(r)
	local v = r.tvb(r.at, 4):uint()
	r.at = r.at + 4
	return v
end

local function bad(m, item, kind, text)
	item:add_proto_expert_info(ei[kind], text)
	m.broken = m.broken or kind == "malformed"
end

-- Return false after noting that the message ends too early.
local function short(r, m, tree, what)
	if r.at >= r.captured - 3 and r.captured < r.length then
		bad(m, tree, "incomplete", "The capture ends before " .. what)
		m.cut = true
	else
		bad(m, tree, "malformed", "The message ends before " .. what)
	end
	return false
end

-- In a truncated packet, a reader ends at the last captured byte.
local function ends(r, n)
	return not has(r, n) or r.at + n > r.captured
end

-- The version 2 words, and those of a list, are uint32s added to the tree.
local function add_word(r, tree, which)
	local item = tree:add(which, r.tvb(r.at, 4))
	return word(r), item
end

local function parse_bool(r, m, tree, what)
	if ends(r, 4) then return short(r, m, tree, what) end
	local v = word(r)
	if v > 1 then
		bad(m, tree, "malformed", what .. " is no XDR boolean: " .. v)
		return false
	end
	return true, v == 1
end

local function parse_segment(r, tree, position)
	local segment = {}
	local start = r.at
	local title = position and f.read or f.segment
	local sub = tree:add(title, r.tvb(start, position and 20 or 16))
	if position then
		segment.position = add_word(r, sub, f.position)
	end
	segment.handle = add_word(r, sub, f["segment.handle"])
	segment.length = add_word(r, sub, f["segment.length"])
	segment.offset = r.tvb(r.at, 8):uint64()
	sub:add(f["segment.offset"], r.tvb(r.at, 8))
	r.at = r.at + 8
	sub:append_text(string.format(": %shandle 0x%08x, %u bytes at 0x%s",
		position and "position " .. segment.position .. ", " or "",
		segment.handle, segment.length, segment.offset:tohex()))
	return segment, sub
end

local function parse_reads(r, m, tree)
	local start = r.at
	local list = tree:add(f.reads, r.tvb(start, math.min(4, r.captured - start)))
	local count, last = 0, nil
	m.reads, m.all = {}, {}
	while true do
		local ok, more = parse_bool(r, m, list, "the Read list's end")
		if not ok then return false end
		if not more then break end
		if ends(r, 20) then return short(r, m, list, "the Read segment's end") end
		local segment, sub = parse_segment(r, list, true)
		if segment.position % 4 ~= 0 then
			bad(m, sub, "malformed", "The Position is not a multiple of 4")
		end
		if m.version == 2 and last and segment.position < last.position then
			bad(m, sub, "forbidden", "The Read list is not in the order of Positions")
		end
		if not last or segment.position ~= last.position then
			last = { position = segment.position, length = 0, segments = {} }
			m.reads[#m.reads + 1] = last
		end
		last.segments[#last.segments + 1] = segment
		last.length = last.length + segment.length
		m.all[#m.all + 1] = segment
		count = count + 1
	end
	list:set_len(r.at - start)
	list:set_text("Read list: " .. count .. " segments in " .. #m.reads .. " chunks")
	list:add(f.read_list, r.tvb(start, r.at - start), count):set_generated()
	m.read_segments = count
	return true
end

local function parse_array(r, m, tree, title)
	local start = r.at
	local chunk = { segments = {}, length = 0, lengths = {} }
	if ends(r, 4) then return short(r, m, tree, "the chunk's number of segments") end
	local sub = tree:add(title, r.tvb(start, 4))
	local count = add_word(r, sub, f.segments)
	if count > (r.length - r.at) / 16 then
		if r.captured < r.length then return short(r, m, sub, "the chunk's end") end
		bad(m, sub, "malformed", "The message has no " .. count .. " segments")
		return false
	end
	for _ = 1, count do
		if ends(r, 16) then return short(r, m, sub, "the segment's end") end
		local segment = parse_segment(r, sub)
		chunk.segments[#chunk.segments + 1] = segment
		chunk.lengths[#chunk.lengths + 1] = segment.length
		chunk.length = chunk.length + segment.length
		m.all[#m.all + 1] = segment
	end
	sub:set_len(r.at - start)
	sub:append_text(": " .. count .. " segments, " .. chunk.length .. " bytes")
	return true, chunk
end

local function parse_lists(r, m, tree)
	if not parse_reads(r, m, tree) then return false end
	local start = r.at
	local list = tree:add(f.writes, r.tvb(start, math.min(4, r.captured - start)))
	m.writes = {}
	while true do
		local ok, more = parse_bool(r, m, list, "the Write list's end")
		if not ok then return false end
		if not more then break end
		local good, chunk = parse_array(r, m, list, f.write)
		if not good then return false end
		m.writes[#m.writes + 1] = chunk
	end
	list:set_len(r.at - start)
	list:set_text("Write list: " .. #m.writes .. " chunks")
	list:add(f.write_list, r.tvb(start, r.at - start), #m.writes):set_generated()

	start = r.at
	local ok, present = parse_bool(r, m, tree, "the Reply chunk")
	if not ok then return false end
	tree:add(f.reply_chunk, r.tvb(start, 4), present)
	if present then
		local good, chunk = parse_array(r, m, tree, f.reply)
		if not good then return false end
		m.reply = chunk
	end
	m.has_lists = true
	m.empty = #m.reads == 0 and #m.writes == 0 and not m.reply
	return true
end

local PROP_FIELDS = {
	[1] = f["prop.send_size"], [2] = f["prop.receive_size"], [3] = f["prop.segment_size"],
	[4] = f["prop.segment_count"], [5] = f["prop.reverse"], [REPLY_READ] = f["prop.reply_read"],
	[REASSEMBLY] = f["prop.reassembly"],
}

-- An opaque of variable length in the item of the handshake, which ends at @last
local function parse_opaque(r, m, tree, which, last, most)
	if r.at + 4 > last then return false end
	local length = word(r)
	if roundup4(length) > last - r.at then return false end
	local range = length > 0 and r.tvb(r.at, length) or nil
	if range then tree:add(which, range) end
	if length > most then
		bad(m, tree, "forbidden", "Longer than " .. most .. " bytes")
	end
	r.at = r.at + roundup4(length)
	return true, range
end

local function is_identity(range)
	return range and not range:raw():find("[^\33-\126]")
end

local function parse_auth_body(r, m, tree, last)
	local ok, identity
	if m.auth == AUTH_FAILURE then
		if r.at + 4 > last then return false end
		m.auth_reason = add_word(r, tree, f["auth.reason"])
		return true
	elseif m.auth == AUTH_PROOF then
		return parse_opaque(r, m, tree, f["auth.proof"], last, 64) and
			parse_opaque(r, m, tree, f["auth.public"], last, 1024)
	end
	if r.at + 8 + 32 > last then return false end
	if m.auth == AUTH_HELLO then
		for _, mask in ipairs({
			{ "auth.hashes", ".sha256", ".sha384", ".sha512" },
			{ "auth.groups", ".none", ".ffdhe2048", ".ffdhe3072", ".ffdhe4096" } }) do
			add_word(r, tree, f[mask[1]])
			for i = 2, #mask do
				tree:add(f[mask[1] .. mask[i]], r.tvb(r.at - 4, 4))
			end
		end
	else
		add_word(r, tree, f["auth.hash"])
		add_word(r, tree, f["auth.group"])
	end
	tree:add(f["auth.nonce"], r.tvb(r.at, 32))
	r.at = r.at + 32
	ok, identity = parse_opaque(r, m, tree, f["auth.identity"], last, 128)
	if not ok then return false end
	if is_identity(identity) then
		m.auth_identity = identity:string()
	else
		bad(m, tree, "forbidden", "No valid identity")
	end
	return m.auth == AUTH_HELLO or
		parse_opaque(r, m, tree, f["auth.public"], last, 1024)
end

-- The item of the handshake in the property HOSTAUTH (wire profile, 9): @length bytes
local function parse_auth(r, m, tree, length)
	local last = r.at + length
	local function wrong()
		bad(m, tree, "forbidden", "No valid message of the handshake")
		r.at = last
	end
	if m.auth then
		bad(m, tree, "forbidden", "A second message of the handshake")
	end
	if length < 8 then return wrong() end
	-- Another mechanism is not an error: it counts as none.
	if add_word(r, tree, f["auth.mechanism"]) ~= 1 then
		tree:append_text(", another mechanism")
		r.at = last
		return
	end
	m.auth = add_word(r, tree, f["auth.type"])
	tree:append_text(": " .. (AUTH_TYPES[m.auth] or "type " .. m.auth))
	if not AUTH_TYPES[m.auth] or not parse_auth_body(r, m, tree, last) or r.at ~= last then
		return wrong()
	end
	if m.auth_identity then
		tree:append_text(" of " .. m.auth_identity)
	elseif m.auth_reason then
		tree:append_text(": " .. (AUTH_REASONS[m.auth_reason] or m.auth_reason))
	end
end

local function parse_props(r, m, tree)
	if ends(r, 4) then return short(r, m, tree, "the number of properties") end
	local count = add_word(r, tree, f.props)
	m.props = {}
	for _ = 1, count do
		if ends(r, 8) then return short(r, m, tree, "the property's length") end
		local start = r.at
		local sub = tree:add(f.prop, r.tvb(start, 8))
		local id = add_word(r, sub, f["prop.id"])
		local length = add_word(r, sub, f["prop.length"])
		sub:set_text("Property: " .. (PROPS[id] or string.format("unknown (0x%08x)", id)))
		if roundup4(length) > r.length - r.at then
			bad(m, sub, "malformed", "The property is longer than the rest of the message")
			return false
		end
		if ends(r, roundup4(length)) then return short(r, m, sub, "the property's end") end
		local known = PROP_FIELDS[id]
		sub:set_len(8 + roundup4(length))
		if known and length == 4 then
			local v, item = add_word(r, sub, known)
			m.props[id] = v
			sub:append_text(" = " .. v)
			if (id == 1 or id == 2) and v < MIN_INLINE then
				bad(m, item, "forbidden", "Less than 1024 bytes")
			elseif id == 5 and v > 3 then
				bad(m, item, "forbidden", "No level of Reverse-Direction support")
			elseif id == REPLY_READ then
				sub:add(f["prop.reply_read.pull"], r.tvb(r.at - 4, 4))
				sub:add(f["prop.reply_read.provide"], r.tvb(r.at - 4, 4))
			end
		elseif length > 0 then
			if known then
				bad(m, sub, "forbidden", "This property's data has 4 bytes")
			end
			sub:add(f["prop.data"], r.tvb(r.at, length))
			local next_one = r.at + roundup4(length)
			if id == HOSTAUTH then parse_auth(r, m, sub, length) end
			r.at = next_one
		else
			sub:append_text(" = default")
			m.props[id] = nil
		end
	end
	return true
end

local ERROR_DATA = {
	[6] = { f["error.max_chunks"] }, [7] = { f["error.max_chunks"] },
	[8] = { f["error.max_segments"] }, [9] = { f["error.chunk"], f["error.length"] },
	[10] = { f["error.length"] },
}

local function parse_error(r, m, tree)
	if ends(r, 4) then return short(r, m, tree, "the error's code") end
	local names = m.version == 1 and ERRORS1 or ERRORS
	local code, item = add_word(r, tree, m.version == 1 and f.error1 or f.error)
	m.error = names[code] or "unknown error " .. code
	if not names[code] then
		bad(m, item, "forbidden", "No document defines this error")
		return true
	end
	local data = m.version == 2 and ERROR_DATA[code] or {}
	if code == 1 then data = { f["error.lowest"], f["error.highest"] } end
	for _, which in ipairs(data) do
		if ends(r, 4) then return short(r, m, tree, "the error's data") end
		add_word(r, tree, which)
	end
	return true
end

-- An ERR_VERS has one form for all versions: seven words, without flags. In version 2 its last
-- word distinguishes it from other errors, as at a client.
local function is_err_vers(tvb, length)
	return length == 28 and tvb(12, 4):uint() == ERROR and tvb(16, 4):uint() == 1 and
	       (tvb(4, 4):uint() ~= 2 or tvb(24, 4):uint() == 1)
end

-- Parse a message; the RPC payload, if any, is at m.payload.
local function parse(tvb, length, captured, tree)
	local m = { length = length }
	local r = reader(tvb, length, captured)
	if ends(r, 16) then
		short(r, m, tree, "its first four words")
		return m
	end
	m.xid = add_word(r, tree, f.xid)
	m.version = tvb(4, 4):uint()
	local _, item = add_word(r, tree, f.version)
	m.credit = add_word(r, tree, f.credit)
	if captured >= 28 and is_err_vers(tvb, length) then
		m.htype = add_word(r, tree, m.version == 1 and f.proc1 or f.proc)
		m.title = m.version == 1 and "RDMA_ERROR" or "RDMA2_ERROR"
		m.response, m.err_vers = true, true
		parse_error(r, m, tree)
		return m
	end
	if m.version ~= 1 and m.version ~= 2 then
		bad(m, item, "forbidden", "An unknown version")
		return m
	end
	m.htype, item = add_word(r, tree, m.version == 2 and f.proc or f.proc1)
	local names = m.version == 2 and HTYPES or PROCS
	m.title = names[m.htype] or "header type " .. m.htype
	if m.version == 2 then
		if ends(r, 8) then
			short(r, m, tree, "the prefix's end")
			return m
		end
		m.flags = tvb(16, 4):uint()
		local flags, sub = add_word(r, tree, f.flags)
		for _, name in ipairs { "response", "more", "tpmore", "reserved" } do
			sub:add(f["flags." .. name], tvb(16, 4))
		end
		m.response = flags % 2 >= 1
		m.more = flags % 4 >= 2
		m.tpmore = flags % 8 >= 4
		local set = {}
		if m.response then set[#set + 1] = "RESPONSE" end
		if m.more then set[#set + 1] = "MORE" end
		if m.tpmore then set[#set + 1] = "TPMORE" end
		sub:append_text(" (" .. (set[1] and table.concat(set, ", ") or "none") .. ")")
		if flags > 7 then bad(m, sub, "forbidden", "A reserved flag is set") end
		if m.more and m.htype ~= MSG then
			bad(m, sub, "forbidden", "MORE belongs to RDMA2_MSG only")
		end
		if m.tpmore and m.htype ~= CONNPROP then
			bad(m, sub, "forbidden", "TPMORE belongs to RDMA2_CONNPROP only")
		end
		m.received = add_word(r, tree, f.received)
		if m.credit > MAX_CREDIT then
			bad(m, tree, "credits", "More than 65535 credits")
		end
		m.limit = (m.received + math.min(m.credit, MAX_CREDIT)) % 4294967296
		tree:add(f.limit, tvb(8, 4), m.limit):set_generated()
	end
	if not names[m.htype] then
		bad(m, item, "forbidden", "No header type")
		return m
	end

	if m.version == 1 and m.htype == MSGP then
		if ends(r, 8) then
			short(r, m, tree, "the alignment's end")
			return m
		end
		add_word(r, tree, f.align)
		add_word(r, tree, f.thresh)
	end
	if m.htype <= (m.version == 1 and MSGP or NOMSG) then
		if m.version == 2 then
			if ends(r, 4) then
				short(r, m, tree, "the chunk lists")
				return m
			end
			m.inv_handle = add_word(r, tree, f.inv_handle)
		end
		if not parse_lists(r, m, tree) then return m end
		m.payload = r.at
	elseif m.htype == CONNPROP then
		if parse_props(r, m, tree) then m.payload = r.at end
	elseif m.htype == ERROR then
		parse_error(r, m, tree)
	end
	return m
end

---------------------------------------------------------------------------
-- Rules about one message. Those about several are in the next section.

local function check_control(m, rec, what)
	if m.xid ~= 0 then note(rec, "forbidden", what .. " has xid 0") end
	if m.response then note(rec, "forbidden", what .. " has no RESPONSE") end
end

local function check_payload(rec, xid, response, s)
	if #s < 8 then
		note(rec, "malformed", "An RPC message begins with xid and direction")
	elseif word_of(s, 0) ~= xid then
		note(rec, "forbidden", "The RPC message has another xid than the header")
	elseif word_of(s, 4) ~= (response and 1 or 0) then
		note(rec, "forbidden", "The RPC message has another direction than the header")
	end
end

local function check_reads(m, rec)
	for i, chunk in ipairs(m.reads) do
		if chunk.position == 0 and m.htype ~= NOMSG then
			note(rec, "forbidden", "Position 0 belongs to RDMA2_NOMSG")
		elseif chunk.position > 0 and chunk.position < 8 then
			note(rec, "forbidden", "The words xid and direction cannot be moved to a chunk")
		end
		if m.version == 2 and m.htype == NOMSG and i == 1 and chunk.position ~= 0 then
			note(rec, "forbidden", "The first Read chunk of RDMA2_NOMSG has Position 0")
		end
	end
	if m.version == 2 and m.response and (m.htype == MSG and m.reads[1] or m.reads[2]) then
		note(rec, "forbidden", "A Reply has one Read chunk, of Position 0 in RDMA2_NOMSG")
	end
end

local function check_limits(m, rec, flow)
	local peer = flow.peer and flow.peer.props
	if not (peer and peer.complete) then return end
	local inline = math.min(flow.props[1] or DEFAULT_INLINE, peer[2] or DEFAULT_INLINE)
	if flow.props.complete and m.htype ~= CONNPROP and m.length > inline then
		note(rec, "forbidden", "Longer than the inline threshold, " .. inline .. " bytes")
	end
	if not m.all or m.response then return end
	if #m.all > (peer[4] or 16) then
		note(rec, "forbidden", "More segments than the peer's Maximum Segment Count")
	end
	for _, segment in ipairs(m.all) do
		if segment.length > (peer[3] or 1048576) then
			note(rec, "forbidden", "A segment is longer than the peer's Maximum Segment Size")
			break
		end
	end
end

---------------------------------------------------------------------------
-- The state of a connection, computed once for each message

local function count_credits(m, rec, flow)
	local peer = flow.peer
	flow.sent = flow.sent + 1
	if m.version ~= 2 or not m.limit then return end
	if flow.whole and peer then
		local limit = peer.limit or 1
		local most = rec.grant and 1 or 0
		if serial(flow.sent, limit) > most then
			note(rec, "credits", string.format("Message %u of this sender, and its limit is %u",
				flow.sent, limit))
		end
	end
	if peer and peer.whole and serial(m.received, peer.sent) > 0 then
		note(rec, "credits", string.format("%u received, and %u were sent, or were not captured",
			m.received, peer.sent))
		peer.sent, peer.whole = m.received, false
	end
	if flow.limit and serial(m.limit, flow.limit) < 0 then
		note(rec, "credits", string.format("The limit was %u before", flow.limit))
	else
		flow.limit = m.limit
	end
end

-- Version 1 has no flags: a Reply is known by its payload, or by its xid.
local function guess_response(m, flow, payload)
	if #payload >= 8 and m.htype ~= NOMSG then
		return word_of(payload, 4) == 1
	end
	if m.reads[1] then return false end
	local call = flow.peer and flow.peer.calls[m.xid]
	return call ~= nil and not call.reply_frame
end

-- A Call is complete: it is delivered now, or when its chunks have been read.
local function take_call(m, rec, flow, frame, stream)
	local call = {
		frame = frame, call = true, reads = m.reads, writes = m.writes, reply = m.reply,
		all = m.all, special = m.htype == NOMSG, stream = stream, record = rec,
	}
	local before = flow.calls[m.xid]
	if before then conceal(flow, before) end
	flow.calls[m.xid] = call
	rec.call = true
	for _, segment in ipairs(m.all) do expose(flow, call, segment) end
	if #m.reads == 0 then
		read_call(call, stream)
		call.delivered = frame
		deliver(rec, flow, stream, "Call")
	end
end

local function lengths_of(chunks)
	local out = {}
	for i, chunk in ipairs(chunks) do out[i] = chunk.length end
	return out
end

-- The segments of a returned chunk are those of the Call's.
local function returned(rec, provided, chunk)
	if not provided then
		note(rec, "forbidden", "The Call has no such chunk")
		return "", chunk.length
	end
	if #provided.segments ~= #chunk.segments then
		if #chunk.segments > 0 then
			note(rec, "forbidden", "A chunk is returned with all its segments")
		end
		return "", chunk.length
	end
	return chunk_content(provided.segments, chunk.lengths)
end

local function take_reply(m, rec, flow, frame, stream)
	local peer = flow.peer
	local call = peer and peer.calls[m.xid]
	if call then
		rec.call_in = call.frame
		if call.reply_frame then
			note(rec, "unmatched", "This Call was answered before, in frame " .. call.reply_frame)
		end
		call.reply_frame = frame
		call.record.reply_in = frame
		if not call.delivered then
			deliver_read(rec, peer, call, frame)
		end
	else
		note(rec, "unmatched", "The Call of this Reply was not captured")
	end
	rec.call = false

	if m.version == 2 and m.htype == NOMSG and m.reads[1] then
		local exposed = {
			frame = frame, call = false, reads = m.reads, writes = m.writes, all = m.all,
			special = true, stream = "", record = rec, answers = call,
		}
		if flow.exposed[m.xid] then
			note(rec, "forbidden", "Another Reply of this xid is exposed")
		end
		flow.exposed[m.xid] = exposed
		for _, chunk in ipairs(m.reads) do
			for _, segment in ipairs(chunk.segments) do expose(flow, exposed, segment) end
		end
		rec.format = "pulled"
		if call then conceal(peer, call) end
		return
	end

	local missing = 0
	if m.htype == NOMSG then
		if not m.reply then
			note(rec, "malformed", "Where the Reply is, no chunk says")
			return
		end
		rec.format = "special"
		if not call then return end
		stream, missing = returned(rec, call.reply, m.reply)
		if missing >= #stream and missing > 0 then
			rec.missing = missing
			conceal(peer, call)
			return
		end
	end
	local lengths = lengths_of(m.writes)
	local items = locate_results(stream, call, lengths)
	for _, item in ipairs(items) do
		local data, lost
		if call then
			data, lost = returned(rec, call.writes[item.chunk], m.writes[item.chunk])
		end
		item.data = data
		if not data or data == "" then
			item.data, lost = zeros(lengths[item.chunk]), lengths[item.chunk]
		end
		missing = missing + lost
	end
	if #items > 0 then rec.reduced = #items end
	if missing > 0 then rec.missing = (rec.missing or 0) + missing end
	deliver(rec, flow, put_back(stream, items), "Reply")
	if call then conceal(peer, call) end
end

-- RDMA2_MSG and RDMA2_NOMSG, and version 1's
local function take_rpc(m, rec, flow, frame, payload)
	local sequence = flow.sequence
	local stream = payload
	check_reads(m, rec)
	if flow.whole and m.version == 2 and
	   not (flow.props.complete and flow.peer and flow.peer.props.complete) then
		note(rec, "forbidden", "RPC traffic before both ends have announced their properties")
	end
	if m.version == 2 and m.inv_handle ~= 0 and
	   (m.more or (m.response and not m.reads[1])) then
		note(rec, "forbidden", "No handle may be invalidated by what answers this message")
	end
	if sequence and (sequence.xid ~= m.xid or sequence.response ~= m.response or
			 m.htype ~= MSG) then
		note(rec, "forbidden", "This message interrupts a continued one, which began in frame "
			.. sequence.frames[1])
		flow.sequence, sequence = nil, nil
	end
	if not sequence and m.version == 2 and m.htype == MSG and not flow.whole and
	   not (#payload >= 8 and word_of(payload, 0) == m.xid) then
		note(rec, "incomplete", "The first part of this message was not captured")
		rec.format = "continued"
		return
	end
	if m.more or sequence then
		if not sequence then
			sequence = { xid = m.xid, response = m.response, parts = {}, frames = {},
				     records = {} }
			flow.sequence = sequence
			check_payload(rec, m.xid, m.response, payload)
		end
		if #payload < 4 or (m.more and #payload % 4 ~= 0) then
			note(rec, "forbidden", "A part has at least 4 bytes, and a multiple of 4")
		end
		sequence.parts[#sequence.parts + 1] = payload
		sequence.frames[#sequence.frames + 1] = frame
		sequence.records[#sequence.records + 1] = rec
		rec.format = "continued"
		rec.part = #sequence.parts
		if m.more then
			if not m.empty then
				note(rec, "forbidden", "Chunks belong to the last message of a sequence")
			end
			return
		end
		flow.sequence = nil
		stream = table.concat(sequence.parts)
		rec.fragments = sequence.frames
		rec.reassembled = #stream
		for _, part in ipairs(sequence.records) do part.reassembled_in = frame end
	elseif m.htype ~= NOMSG then
		rec.format = "inline"
		check_payload(rec, m.xid, m.response, payload)
	else
		rec.format = "special"
		if #payload > 0 then
			note(rec, "malformed", "RDMA2_NOMSG has no payload")
		end
	end
	if m.response then
		take_reply(m, rec, flow, frame, stream)
	else
		if m.htype == NOMSG and not m.reads[1] then
			note(rec, "malformed", "Where the Call is, no chunk says")
			return
		end
		take_call(m, rec, flow, frame, stream)
	end
end

local function take_error(m, rec, flow)
	if m.version == 2 and not m.err_vers and not m.response then
		note(rec, "forbidden", "An ERROR has RESPONSE")
	end
	note(rec, "refused", m.error or "an error")
	local call = flow.peer and flow.peer.calls[m.xid]
	if call and not call.reply_frame then
		rec.call_in = call.frame
	end
end

local function take_done(m, rec, flow, frame)
	if m.response then note(rec, "forbidden", "A DONE has no RESPONSE") end
	local peer = flow.peer
	local exposed = peer and peer.exposed[m.xid]
	if not exposed then
		note(rec, "unmatched", "No Reply is exposed for this xid")
		return
	end
	rec.call_in = exposed.answers and exposed.answers.frame
	rec.done_for = exposed.frame
	deliver_read(rec, peer, exposed, frame)
	conceal(peer, exposed)
	peer.exposed[m.xid] = nil
end

-- The order of the handshake (wire profile, 9). FAILURE may replace any of the server's.
local AUTH_BEFORE = { [AUTH_CHALLENGE] = AUTH_HELLO, [AUTH_PROOF] = AUTH_CHALLENGE }

local function check_auth(m, rec, flow)
	local peer = flow.peer and flow.peer.auth
	local before = AUTH_BEFORE[m.auth]
	if m.auth == AUTH_FAILURE then
		note(rec, "refused", "The server refuses the client: " ..
			(AUTH_REASONS[m.auth_reason] or "reason " .. tostring(m.auth_reason)))
	elseif flow.whole and before and peer ~= before and
	       not (m.auth == AUTH_PROOF and peer == AUTH_PROOF) then
		note(rec, "forbidden", "A " .. AUTH_TYPES[m.auth] .. " follows the peer's " ..
			AUTH_TYPES[before])
	end
	flow.auth = m.auth
end

local function take_props(m, rec, flow)
	check_control(m, rec, "A CONNPROP")
	if AUTH_TYPES[m.auth] then check_auth(m, rec, flow) end
	if flow.props.complete then
		note(rec, "forbidden", "A CONNPROP after the last one")
	end
	if flow.whole and not flow.props.begun and m.length > 1024 and not (flow.peer and flow.peer.limit) then
		note(rec, "forbidden", "The first CONNPROP is longer than 1024 bytes")
	elseif m.length > 4096 then
		note(rec, "forbidden", "A CONNPROP is longer than 4096 bytes")
	end
	flow.props.begun = true
	for id, v in pairs(m.props or {}) do flow.props[id] = v end
	flow.props.complete = not m.tpmore
end

local function take(m, rec, flow, frame, s)
	if not m.htype then return end
	local payload = m.payload and s:sub(m.payload + 1) or ""
	rec.grant = m.version == 2 and m.htype == NOMSG and m.empty and m.xid == 0
	if m.version == 1 and m.has_lists and not m.broken then
		look_for_peer(flow, function(other)
			return #payload >= 8 and word_of(payload, 4) == 1 and other.calls[m.xid]
		end)
		m.response = guess_response(m, flow, payload)
	elseif m.version == 2 and m.response then
		look_for_peer(flow, function(other) return other.calls[m.xid] end)
	elseif m.version == 2 and m.htype == DONE then
		look_for_peer(flow, function(other) return other.exposed[m.xid] end)
	end
	rec.response = m.response
	count_credits(m, rec, flow)
	if not m.err_vers then check_limits(m, rec, flow) end
	if m.broken or m.cut then return end
	if rec.grant then
		check_control(m, rec, "A credit grant")
	elseif m.has_lists then
		if m.version == 2 and m.htype == NOMSG and m.empty then
			note(rec, "malformed", "RDMA2_NOMSG without chunks is a credit grant, and has xid 0")
			return
		end
		take_rpc(m, rec, flow, frame, payload)
	elseif m.htype == ERROR then
		take_error(m, rec, flow)
	elseif m.htype == DONE then
		take_done(m, rec, flow, frame)
	elseif m.htype == CONNPROP then
		take_props(m, rec, flow)
	end
end

---------------------------------------------------------------------------
-- Display

local rpc = Dissector.get("rpc")
local raw = Dissector.get("data")

local function show_notes(rec, tree)
	for _, n in ipairs(rec.notes or {}) do
		tree:add_proto_expert_info(ei[n[1]], n[2])
	end
	if rec.missing then
		tree:add(f["data.missing"], rec.missing):set_generated()
		tree:add_proto_expert_info(ei.incomplete, rec.missing ..
			" bytes of chunks were not captured, and are shown as zeros")
	end
end

local function show_frame(tree, which, number)
	if number then tree:add(which, number):set_generated() end
end

-- Pass RPC messages to Wireshark's RPC dissector.
local function show_delivered(rec, pinfo, root)
	local sport, dport = pinfo.src_port, pinfo.dst_port
	for _, d in ipairs(rec.delivered or {}) do
		if #d.data > 0 then
			local tvb = ByteArray.new(d.data, true):tvb("RPC " .. d.what)
			if d.flow.dport then
				pinfo.src_port, pinfo.dst_port = d.flow.sport, d.flow.dport
				if d.flow ~= rec.flow then	-- sent before, in the other direction
					pinfo.src_port, pinfo.dst_port = d.flow.dport, d.flow.sport
				end
			end
			local ok, n = pcall(rpc.call, rpc, tvb, pinfo, root)
			if ok and n == 0 then raw:call(tvb, pinfo, root) end
		end
	end
	pinfo.src_port, pinfo.dst_port = sport, dport
end

local function title_of(m, rec)
	if not m.htype then return "message" end
	local title = m.title
	if rec.grant then
		title = "Credit grant"
	elseif m.error then
		title = title .. " " .. m.error
	elseif m.auth then
		title = title .. " " .. (AUTH_TYPES[m.auth] or "HOSTAUTH")
		if m.auth_identity then title = title .. " of " .. m.auth_identity end
	elseif rec.call ~= nil or m.has_lists then
		title = title .. (rec.response and " Reply" or " Call")
		if rec.part then title = title .. ", part " .. rec.part end
	end
	if m.xid ~= 0 then title = title .. string.format(", xid 0x%08x", m.xid) end
	return title
end

-- A message that is complete, in @tvb
local function show_message(tvb, length, captured, pinfo, root, rec, flow, s, first)
	local tree = root:add(proto, tvb(0, captured))
	pinfo.cols.protocol = "RPCoRDMA"
	local m = parse(tvb, length, captured, tree)
	if first then
		rec.flow = flow
		take(m, rec, flow, pinfo.number, s)
	else
		m.response = rec.response
	end
	local title = title_of(m, rec)
	tree:set_text("RPC-over-RDMA Version " .. (m.version or "?") .. ", " .. title)
	pinfo.cols.info = title
	if m.payload and m.payload < length and (m.htype == MSG or m.htype == MSGP) then
		tree:set_len(m.payload)
		tree:add(f["payload.length"], length - m.payload):set_generated()
	end
	if rec.grant then tree:add(f.grant, true):set_generated() end
	if rec.call ~= nil then tree:add(f.call, rec.call):set_generated() end
	if rec.format then tree:add(f.format, rec.format):set_generated() end
	if rec.invalidated then tree:add(f.invalidated, rec.invalidated):set_generated() end
	if rec.fragments then
		for _, number in ipairs(rec.fragments) do show_frame(tree, f.fragment, number) end
		tree:add(f["reassembled.length"], rec.reassembled):set_generated()
	elseif rec.reassembled_in ~= pinfo.number then
		show_frame(tree, f.reassembled_in, rec.reassembled_in)
	end
	show_frame(tree, f.call_in, rec.call_in)
	show_frame(tree, f.reply_in, rec.reply_in)
	if rec.rpc_in and rec.rpc_in ~= pinfo.number then
		show_frame(tree, f.rpc_in, rec.rpc_in)
	end
	show_notes(rec, tree)
	show_delivered(rec, pinfo, root)
end

-- A packet with RDMA data, or a packet of a longer Send
local function show_data(tvb, pinfo, root, rec, title)
	local captured = tvb:captured_len()
	local tree = root:add(proto, captured > 0 and tvb(0, captured) or tvb())
	tree:set_text("RPC-over-RDMA, " .. title)
	pinfo.cols.protocol = "RPCoRDMA"
	if rec.data then
		pinfo.cols.info:append(" (chunk of the message in " .. rec.data.message .. ")")
		show_frame(tree, f["data.message"], rec.data.message)
		tree:add(f["data.offset"], rec.data.offset):set_generated()
		tree:add(f["data.length"], rec.data.length):set_generated()
	end
	show_frame(tree, f.reassembled_in, rec.send_in)
	show_notes(rec, tree)
	show_delivered(rec, pinfo, root)
end

---------------------------------------------------------------------------
-- Heuristic recognition, for connections that are not known to be RPC-over-RDMA

local function lists_end(tvb, at, length)
	local function get()
		if at + 4 > length then return end
		at = at + 4
		return tvb(at - 4, 4):uint()
	end
	local count = 0
	while true do
		local more = get()
		if more == 0 then break end
		if more ~= 1 or at + 20 > length then return end
		at, count = at + 20, count + 1
	end
	for list = 1, 2 do
		while true do
			local more = get()
			if more == 0 then break end
			if more ~= 1 then return end
			local segments = get()
			if not segments or segments > (length - at) / 16 then return end
			at, count = at + 16 * segments, count + 1
			if list == 2 then break end
		end
	end
	return at, count
end

local function plausible(tvb)
	local length = tvb:captured_len()
	if length < 20 then return false end
	local function get(at) return tvb(at, 4):uint() end
	local xid, version, htype = get(0), get(4), get(12)
	if get(8) > MAX_CREDIT or (version ~= 1 and version ~= 2) then return false end
	if length >= 28 and is_err_vers(tvb, tvb:reported_len()) then return true end
	if version == 1 then
		if htype == ERROR then return length == 20 and get(16) == 2 end
		if htype > NOMSG then return false end
		local at, count = lists_end(tvb, 16, length)
		if not at then return false end
		if htype == NOMSG then return count > 0 and at == length end
		return at + 8 <= length and get(at) == xid and get(at + 4) <= 1
	end
	if length < 24 or not HTYPES[htype] or get(16) > 7 then return false end
	if htype == DONE then return length == 24 and get(16) == 0 end
	if htype == ERROR then return length <= 36 and length >= 28 and ERRORS[get(24)] ~= nil end
	if htype == CONNPROP then return xid == 0 and length >= 28 and get(24) <= 64 end
	local at, count = lists_end(tvb, 28, length)
	if not at then return false end
	if htype == NOMSG then
		return at == length and (count > 0 or xid == 0)
	end
	if at + 8 <= length and get(at) == xid and get(at + 4) == get(16) % 2 then return true end
	return count == 0 and get(24) == 0 and at + 4 <= length
end

local function is_ours(flow, tvb)
	if not flow.known then
		if not plausible(tvb) then return false end
		flow.known = true
		if flow.peer then flow.peer.known = true end
	end
	if not proto.prefs.version1 and tvb:captured_len() >= 8 and tvb(4, 4):uint() == 1 then
		return false
	end
	return true
end

---------------------------------------------------------------------------
-- InfiniBand and RoCE

local SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
local WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 6, 7, 8, 10
local READ_REQUEST, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY =
	12, 13, 14, 15, 16
-- With immediate data or an invalidation, the same
local PLAIN = { [3] = 2, [5] = 4, [9] = 8, [11] = 10, [22] = 2, [23] = 4 }
local PSNS = 16777216

-- Return the PSN as a number that does not wrap, and whether it was seen before.
local function extend(flow, psn)
	flow.top = flow.top or psn
	local d = (psn - flow.top) % PSNS
	if d >= PSNS / 2 then d = d - PSNS end
	local extended = flow.top + d
	if d > 0 then
		-- Packets are missing: the messages sent cannot be counted any more.
		if d > 1 and not (flow.skip and flow.skip(d - 1)) then flow.whole = false end
		flow.top, flow.skip = extended, nil
	end
	if flow.seen[extended] then return extended, true end
	flow.seen[extended] = true
	return extended, false
end

-- A packet of a Send: return the Send if it is complete with this packet.
local function add_to_send(flow, at, op, s, cut, rec)
	flow.sends[at] = { op = op, s = s, cut = cut, rec = rec }
	local first = at
	while flow.sends[first] and flow.sends[first].op ~= SEND_FIRST do first = first - 1 end
	if not flow.sends[first] then return end
	local last = at
	while flow.sends[last] and flow.sends[last].op ~= SEND_LAST do last = last + 1 end
	if not flow.sends[last] then return end
	local parts, lost, recs = {}, 0, {}
	for i = first, last do
		parts[#parts + 1] = flow.sends[i].s
		recs[#recs + 1] = flow.sends[i].rec
		lost = lost + flow.sends[i].cut
		flow.sends[i] = nil
	end
	return table.concat(parts), lost, recs
end

-- The newest Read or Write to which a packet with that PSN may belong
local function find_transfer(list, psn, mtu)
	for i = #list, 1, -1 do
		local t = list[i]
		local packet = (psn - t.psn) % PSNS
		if packet * (mtu or t.mtu or 256) < t.length or packet == 0 then
			return t, packet
		end
	end
end

local function add_transfer(list, psn)
	list[#list + 1] = {
		psn = psn, handle = value(ib.handle), address = value(ib.address),
		length = value(ib.length),
	}
	if #list > 512 then table.remove(list, 1) end
	return list[#list]
end

local function with_handle(t)
	return function(other) return find_segment(other, t.handle, t.address) ~= nil end
end

-- A Read takes a PSN for each packet of its response, whose size is a path MTU.
local function psns_of_read(length)
	return function(more)
		for _, mtu in ipairs { 256, 512, 1024, 2048, 4096 } do
			if more == math.max(math.ceil(length / mtu), 1) - 1 then return true end
		end
		return false
	end
end

local function take_read_request(rec, flow, psn)
	local t = add_transfer(flow.reads, psn)
	flow.skip = psns_of_read(t.length)
	look_for_peer(flow, with_handle(t))
	rec.data = nil
	local segment, at
	if flow.peer then segment, at = find_segment(flow.peer, t.handle, t.address) end
	if segment then
		rec.data = { message = segment.message.frame, offset = at, length = t.length }
	else
		note(rec, "unmatched", "Memory of no chunk that was captured")
	end
	rec.title = "RDMA Read of " .. t.length .. " bytes"
end

local function take_read_response(rec, flow, frame, op, psn, s, cut)
	rec.title = "data of an RDMA Read"
	look_for_peer(flow, function(other)
		for i = #other.reads, 1, -1 do
			if other.reads[i].psn == psn then return true end
		end
	end)
	local peer = flow.peer
	if not peer then return end
	if op == RESPONSE_FIRST or op == RESPONSE_MIDDLE then flow.read_mtu = #s end
	local t, packet = find_transfer(peer.reads, psn, flow.read_mtu)
	if not t then
		note(rec, "unmatched", "The RDMA Read was not captured")
		return
	end
	local at = packet * (flow.read_mtu or 0)
	if op == RESPONSE_LAST then at = t.length - #s end
	place(rec, frame, flow, t.handle, t.address + UInt64(at), s, cut, flow)
end

local function take_write(rec, flow, frame, op, psn, s, cut)
	local t, packet
	rec.title = "data of an RDMA Write"
	if op == WRITE_FIRST or op == WRITE_ONLY then
		t, packet = add_transfer(flow.writes, psn), 0
		t.mtu = #s
		look_for_peer(flow, with_handle(t))
	else
		t, packet = find_transfer(flow.writes, psn)
	end
	if not t or not flow.peer then
		note(rec, "unmatched", "The RDMA Write's first packet was not captured")
		return
	end
	local at = packet * (t.mtu or 0)
	if op == WRITE_LAST then at = t.length - #s end
	place(rec, frame, flow.peer, t.handle, t.address + UInt64(at), s, cut)
end

local function payload_length(tvb, pad)
	return math.max(tvb:reported_len() - pad, 0)
end

local function ib_heuristic(tvb, pinfo, root)
	local op = value(ib.opcode)
	if not op or op > 23 or op < 0 then return false end
	local inv = op == 22 or op == 23
	op = PLAIN[op] or op
	local is_send = op <= SEND_ONLY
	if op > RESPONSE_ONLY then return false end

	local key = pinfo.number .. ":0"
	local rec = records[key]
	local first = not rec
	local flow = first and flow_to(pinfo) or rec.flow
	if first then
		-- A Send may be recognised; other packets belong to connections that are.
		if is_send and (op == SEND_FIRST or op == SEND_ONLY) then
			if not is_ours(flow, tvb) then return false end
		elseif not flow.known and not (op >= WRITE_FIRST and next(unpaired)) then
			return false
		end
		rec = { flow = flow }
	end

	local length = payload_length(tvb, value(ib.padcnt) or 0)
	local s, cut = nil, 0
	if first then
		local psn = value(ib.psn)
		s, cut = bytes_of(tvb, length)
		local at, again
		if op >= RESPONSE_FIRST then
			-- The PSNs of the other direction; the pieces show what was seen before.
			at = psn
		else
			at, again = extend(flow, psn)
		end
		if inv then
			local info = ib.ieth()
			rec.invalidated = info and info.range and info.range:uint()
		end
		if again then
			note(rec, "duplicate", "This packet was captured before")
			rec.again = true
		elseif op == READ_REQUEST then
			take_read_request(rec, flow, psn)
		elseif op >= RESPONSE_FIRST then
			take_read_response(rec, flow, pinfo.number, op, psn, s, cut)
		elseif op >= WRITE_FIRST then
			take_write(rec, flow, pinfo.number, op, psn, s, cut)
		elseif op ~= SEND_ONLY then
			local parts
			rec.title = "part of a message"
			rec.send, rec.cut, parts = add_to_send(flow, at, op, s, cut, rec)
			for _, part in ipairs(parts or {}) do
				if part ~= rec then part.send_in = pinfo.number end
			end
		end
		if not is_send and not flow.known then return false end
		records[key] = rec
	end

	if rec.again then
		show_data(tvb, pinfo, root, rec, "retransmitted packet")
	elseif op == SEND_ONLY then
		show_message(tvb, length, math.min(tvb:captured_len(), length), pinfo, root, rec, flow,
			s, first)
	elseif rec.send then
		local whole = ByteArray.new(rec.send, true):tvb("Reassembled Send")
		show_message(whole, #rec.send, #rec.send, pinfo, root, rec, flow, rec.send, first)
	else
		show_data(tvb, pinfo, root, rec, rec.title or "data")
	end
	return true
end

proto:register_heuristic("infiniband.payload", ib_heuristic)

-- The private message of RFC 8797, and the queue pairs of connections
local function cm_heuristic(tvb, pinfo, root)
	local attribute = value(ib.attribute)
	local req, rep = attribute == 0x0010, attribute == 0x0013
	local found = tvb:captured_len() >= 8 and tvb(0, 4):uint() == PRIVATE_MAGIC
	if not req and not rep then return false end
	local key = pinfo.number .. ":cm"
	if not records[key] then
		records[key] = {}
		local qpn = value(req and ib.req_qpn or ib.rep_qpn)
		local id = tostring(value(ib.transaction))
		local ours = found
		-- While Wireshark reads a REQ, the address in pinfo.src is a LID.
		local src = tostring(pinfo.net_src)
		if src == "" then src = tostring(pinfo.src) end
		if req then
			ours = ours or value(ib.req_port) == proto.prefs.ports
			if ours then announced["id" .. id .. src] = id end
		else
			ours = ours or announced["id" .. id .. tostring(pinfo.dst)]
		end
		local to = src .. "/" .. tostring(qpn)
		-- A queue pair number that is used again is another connection's, unless the
		-- message is retransmitted.
		if ours and qpn and announced[to] ~= id then
			forget(to)
			announced[to] = id
		end
	end
	if not found then return false end
	local tree = root:add(proto, tvb(0, 8))
	tree:set_text("RPC-over-RDMA, private message")
	tree:add(f["cm.magic"], tvb(0, 4))
	tree:add(f["cm.version"], tvb(4, 1))
	tree:add(f["cm.remote_invalidation"], tvb(5, 1))
	tree:add(f["cm.send_size"], tvb(6, 1), (tvb(6, 1):uint() + 1) * 1024)
	tree:add(f["cm.receive_size"], tvb(7, 1), (tvb(7, 1):uint() + 1) * 1024)
	return true
end

proto:register_heuristic("infiniband.mad.cm.private", cm_heuristic)

---------------------------------------------------------------------------
-- iWARP

local RDMAP_WRITE, RDMAP_READ_REQUEST, RDMAP_READ_RESPONSE, RDMAP_SEND, RDMAP_SEND_SE_INV =
	0, 1, 2, 3, 6

local function flow_of_stream(pinfo)
	local src = tostring(pinfo.src) .. ":" .. pinfo.src_port
	local dst = tostring(pinfo.dst) .. ":" .. pinfo.dst_port
	local key = src .. ">" .. dst
	local flow = flows[key]
	if not flow then
		flow = new_flow(key, src, dst)
		local back = new_flow(dst .. ">" .. src, dst, src)
		pair(flow, back)
		if pinfo.src_port == proto.prefs.ports or pinfo.dst_port == proto.prefs.ports then
			flow.known, back.known = true, true
		end
	end
	return flow
end

-- Wireshark's own dissector reassembles Sends unless it was told not to.
local function add_to_iwarp_send(flow, rec, s, cut)
	local msn, mo = value(iwarp.msn), value(iwarp.mo)
	local send = flow.sends[msn] or { next = 0, parts = {}, recs = {}, cut = 0 }
	if not value(iwarp.last) then
		flow.sends[msn] = send
	elseif not flow.sends[msn] then
		return s, cut, {}
	end
	if mo ~= send.next then return end
	send.next = mo + #s
	send.cut = send.cut + cut
	send.parts[#send.parts + 1] = s
	send.recs[#send.recs + 1] = rec
	if value(iwarp.last) then
		flow.sends[msn] = nil
		return table.concat(send.parts), send.cut, send.recs
	end
end

local function take_iwarp_response(rec, flow, frame, s, cut)
	local stag, to = value(iwarp.stag), value(iwarp.to)
	rec.title = "data of an RDMA Read"
	for i = #flow.peer.reads, 1, -1 do
		local t = flow.peer.reads[i]
		if t.sink == stag and to >= t.sink_to and
		   (to - t.sink_to):tonumber() < math.max(t.length, 1) then
			place(rec, frame, flow, t.handle, t.address + (to - t.sink_to), s, cut, flow)
			return
		end
	end
	note(rec, "unmatched", "The RDMA Read was not captured")
end

local function iwarp_heuristic(tvb, pinfo, root)
	local info, count = iwarp.opcode()
	local op = info and info.value
	if not op or op > RDMAP_SEND_SE_INV then return false end
	local is_send = op >= RDMAP_SEND
	local key = pinfo.number .. ":" .. count
	local rec = records[key]
	local first = not rec
	local flow = first and flow_of_stream(pinfo) or rec.flow
	if first then
		if is_send and not is_ours(flow, tvb) then return false end
		if not flow.known then return false end
		rec = { flow = flow }
		records[key] = rec
		local frame = pinfo.number
		local s, cut = bytes_of(tvb, tvb:reported_len())
		if op == RDMAP_WRITE then
			rec.title = "data of an RDMA Write"
			place(rec, frame, flow.peer, value(iwarp.stag), value(iwarp.to), s, cut)
		elseif op == RDMAP_READ_REQUEST then
			local t = {
				sink = value(iwarp.sink), sink_to = value(iwarp.sink_to),
				length = value(iwarp.size), handle = value(iwarp.source),
				address = value(iwarp.source_to),
			}
			table.insert(flow.reads, t)
			if #flow.reads > 512 then table.remove(flow.reads, 1) end
			rec.title = "RDMA Read of " .. t.length .. " bytes"
			local segment, at = find_segment(flow.peer, t.handle, t.address)
			if segment then
				rec.data = { message = segment.message.frame, offset = at, length = t.length }
			end
		elseif op == RDMAP_READ_RESPONSE then
			take_iwarp_response(rec, flow, frame, s, cut)
		else
			local parts
			if op == 4 or op == RDMAP_SEND_SE_INV then
				rec.invalidated = value(iwarp.invalidated)
			end
			rec.send, rec.cut, parts = add_to_iwarp_send(flow, rec, s, cut)
			for _, part in ipairs(parts or {}) do
				if part ~= rec then part.send_in = frame end
			end
		end
	end
	if rec.send then
		local whole = ByteArray.new(rec.send, true):tvb("Send")
		show_message(whole, #rec.send, #rec.send, pinfo, root, rec, flow, rec.send, first)
	else
		show_data(tvb, pinfo, root, rec, is_send and "part of a message" or rec.title or "data")
	end
	return true
end

proto:register_heuristic("iwarp_ddp_rdmap", iwarp_heuristic)
