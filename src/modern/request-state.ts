// The `requestState` of calls that are suspended here while a modern client answers its backend (M23). From the state, any worker of this
// gateway knows which worker has the call. A state is valid only for the same caller and request, for a few minutes. Backends have states
// of their own, which pass unchanged: a state is the gateway's if it can be decrypted. Cold path.
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { limits, seal, SEAL_BYTES, SEAL_KEY_BYTES, unseal } from '../shared/index.js';

/** The name of the layout of the sealed bytes; part of the key and of the associated data, so that no other layout opens. */
const FORMAT = 'switchyard request state 1';

/** The offset of the call's key. The layout: slot (u16), round (u16), expiry in seconds since 1970 (u32), key of the call. */
const CALL_KEY_OFFSET = 8;
const CALL_KEY_BYTES = 12;
const ADDRESS_BYTES = CALL_KEY_OFFSET + CALL_KEY_BYTES;
const STATE_PATTERN = new RegExp(`^[\\w-]{${Math.ceil(((SEAL_BYTES + ADDRESS_BYTES) * 4) / 3)}}$`);

const HASHED_BYTES_MAX = 1_048_576;

/** The request that a `requestState` belongs to. For a request that differs in any of these, the state does not open. */
export interface StateBinding {
  readonly subject: string;
  readonly virtualHostId: string;
  readonly method: string;
  /** The tool's or prompt's name, or the resource's URI, as the caller has it. */
  readonly name: string;
  readonly argsHash: string;
  readonly headersHash: string;
}

export interface SuspendedCallAddress {
  readonly slot: number;
  readonly callKey: string;
  /** The number of the round: how often the call has asked the client. */
  readonly round: number;
}

/** A random key, so that no two calls share one, even over successive workers of one slot. */
export function newCallKey(): string {
  return randomBytes(CALL_KEY_BYTES).toString('base64url');
}

/** Hashes the arguments' length and first 1 MiB. More would block the event loop, and is not needed: a suspended call keeps its arguments. */
export function argumentsHash(args: Buffer): string {
  return createHash('sha256').update(`${args.length} `).update(args.subarray(0, HASHED_BYTES_MAX)).digest('base64');
}

/**
 * The hash of a caller's passthrough headers, which may be credentials: only the hash is kept. A lease or a suspended call does not serve
 * requests with other headers.
 * @returns `''` for none.
 */
export function headersHash(headers: readonly string[]): string {
  return headers.length === 0 ? '' : createHash('sha256').update(JSON.stringify(headers)).digest('base64');
}

export function isStateShaped(state: string): boolean {
  return STATE_PATTERN.test(state);
}

export class RequestStates {
  readonly #key: Buffer;
  readonly #nowMs: () => number;

  /** @param secret shared by this gateway's workers only. @param nowMs a clock that the workers share. */
  constructor(secret: Uint8Array, nowMs: () => number = Date.now) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', FORMAT, SEAL_KEY_BYTES));
    this.#nowMs = nowMs;
  }

  seal(binding: StateBinding, { slot, callKey, round }: SuspendedCallAddress): string {
    const address = Buffer.alloc(ADDRESS_BYTES);
    address.writeUInt16BE(slot, 0);
    address.writeUInt16BE(round, 2);
    address.writeUInt32BE(Math.ceil((this.#nowMs() + limits.personMsMax) / 1_000), 4);
    address.write(callKey, CALL_KEY_OFFSET, 'base64url');
    return seal(this.#key, associatedData(binding), address).toString('base64url');
  }

  /**
   * Opens a state. @returns `undefined` for one that is not the gateway's, or belongs to another request. Only the worker that has the call
   * knows whether a state was used already.
   */
  open(binding: StateBinding, state: string): SuspendedCallAddress | 'expired' | undefined {
    if (!STATE_PATTERN.test(state)) return undefined;
    const bytes = Buffer.from(state, 'base64url');
    // Only one spelling is accepted, because some bits of the last character are unused.
    if (bytes.toString('base64url') !== state) return undefined;
    const address = unseal(this.#key, associatedData(binding), bytes);
    if (address === undefined) return undefined;
    if (address.readUInt32BE(4) * 1_000 <= this.#nowMs()) return 'expired';
    return {
      slot: address.readUInt16BE(0),
      round: address.readUInt16BE(2),
      callKey: address.toString('base64url', CALL_KEY_OFFSET),
    };
  }
}

/** The texts to which a state is bound, as JSON, so that no two lists of texts are equal. */
function associatedData({ subject, virtualHostId, method, name, argsHash, headersHash }: StateBinding): Buffer {
  return Buffer.from(JSON.stringify([FORMAT, subject, virtualHostId, method, name, argsHash, headersHash]));
}
