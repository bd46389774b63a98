// The parts of tests of the cost of a turn: messages that are slow to read or large to copy, callers that accept everything and keep
// nothing, and the bound of a turn.
import type { Test } from 'tap';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import { limits } from '../../src/shared/limits.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { slownessNow } from '../support/turn-cost.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { RelayScene, SESSION_ID } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';
import { UPSTREAM_SLICE_BYTES_MAX } from '../../src/http-client/read-scheduler.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

export const MIB = 1024 * 1024;
/** The default of `--max-body-bytes`. */
export const BODY_BYTES = 4 * MIB;
/** The size of bulks that are slow to read, where another test already uses the largest possible size. */
export const SLOW_BULK_BYTES = 4 * MIB;
/** The bound on a turn, in ms of CPU time on a machine like the one that the limits are for. */
const TURN_MS_MAX = 50;

/** JSON values of about this many bytes, each slow to read in its own way or large to copy. */
export const bulks: Readonly<Record<string, (bytes: number) => string>> = {
  'a token a byte': (bytes) => `[${'1,'.repeat(bytes / 2)}1]`,
  'empty objects': (bytes) => `[${'{},'.repeat(bytes / 3)}{}]`,
  escapes: (bytes) => `"${'\\n'.repeat(bytes / 2)}"`,
  'line breaks': (bytes) => `[${'\n'.repeat(bytes)}]`,
  'plain text': (bytes) => `"${'ä'.repeat(bytes / 2)}"`,
};

/** Almost as many members as can be recorded, each with a name that is nearly the one searched for. */
export function members(name: string, bytes: number): string {
  const member = `"${name.slice(0, -1)}":0,`;
  return member.repeat(Math.min(limits.jsonNodesMax - 1_000, Math.floor(bytes / member.length)));
}

/** Accepts everything and keeps nothing. */
export class ThrownAway extends RecordedExchange {
  bytes = 0;
  isOver = false;

  constructor(request: Partial<ExchangeRequest>) {
    super({ sessionId: SESSION_ID, ...request });
  }

  override respond(_status: number, _contentType: string, body: Uint8Array | string): void {
    this.bytes += body.length;
    this.isOver = true;
  }

  override openStream(): void {}

  override openBody(): void {}

  override write(bytes: Uint8Array): boolean {
    this.bytes += bytes.length;
    return true;
  }

  override end(): void {
    this.isOver = true;
  }
}

export interface SessionSetup {
  /** What the backend declares. */
  readonly offers?: object;
  /** What the client declares. */
  readonly capabilities?: object;
  readonly version?: string;
  /** More of the backend's config. */
  readonly backend?: Parameters<typeof virtualHostOf>[0][string];
}

/** A session with one backend. */
export function open(t: Test, setup: SessionSetup = {}): RelayScene {
  const { offers = { tools: {} }, capabilities = {}, version = '2025-11-25', backend = {} } = setup;
  const result = { protocolVersion: '2025-11-25', capabilities: offers };
  const answer = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
  return new RelayScene(t, virtualHostOf({ b: backend })).open(capabilities, answer, version);
}

export function handle(scene: RelayScene, exchange: RecordedExchange): void {
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
}

export function check(t: Test, dearestMs: number): void {
  const boundMs = dearestMs < TURN_MS_MAX ? TURN_MS_MAX : TURN_MS_MAX * slownessNow();
  t.ok(dearestMs < boundMs, `the dearest turn cost ${Math.round(dearestMs)} ms of ${Math.round(boundMs)} at most`);
}

/**
 * Gives the bytes as a connection would: in chunks, a few of them per turn, and none while the relay does not read.
 * @param isWhole whether the answer ends with them.
 */
export function feed(
  call: ScriptedCall,
  bytes: Buffer,
  { isWhole = true, bytesATurn = UPSTREAM_SLICE_BYTES_MAX } = {},
): void {
  let at = 0;
  const next = (): void => {
    const turnEnd = Math.min(bytes.length, at + bytesATurn);
    while (!call.isPaused && at < turnEnd && !call.isAborted) {
      const end = Math.min(turnEnd, at + connectionBounds.upstreamReadBytes);
      call.chunk(Buffer.from(bytes.subarray(at, end)));
      at = end;
    }
    if (at < bytes.length && !call.isAborted) setImmediate(next);
    else if (isWhole) call.end();
  };
  next();
}

/** The name has escapes, so that removing its prefix takes more than leaving bytes out. */
export function callBody(args: string, more = ''): Buffer {
  const params = `{"_meta":{"progressToken":1},"name":"b-\\u0078","arguments":${args}${more}}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`);
}

export function asJson(message: string): Buffer[] {
  return [Buffer.from(message)];
}

export function asEvent(message: string): Buffer[] {
  return [Buffer.from('data: '), Buffer.from(message.replaceAll('\n', ' ')), Buffer.from('\n\n')];
}
