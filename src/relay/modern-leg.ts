// One request of a session on its way to a backend of MCP 2026-07-28: what its head says, what of the caller's session goes into its bytes,
// and what an answer means that is none yet. Warm: of such backends alone.
import { Buffer } from 'node:buffer';
import { readMember } from '../protocol/json-member-text.js';
import type { BackendMessage } from '../protocol/json-rpc.js';
import { LOG_LEVEL_KEY } from '../protocol/modern-envelope.js';
import type { Reading } from '../protocol/reading-queue.js';
import { readResultType } from '../protocol/result-type.js';
import type { OutgoingMessage } from '../upstream/http-upstream.js';
import { modernHead } from '../upstream/modern-request.js';
import type { IdSpan } from '../upstream/rpc-request.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';
import { InputRounds, type InputOwner } from './input-rounds.js';
import { modernMessage } from './modern-message.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';
import type { Session } from './session.js';

/** The methods in whose answers a backend may ask for more (M22). */
const ASKING_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

export interface ModernLegOwner extends InputOwner {
  /** The answer is one, after all. */
  onWhole(bytes: Buffer, message: BackendMessage): void;
}

export class ModernLeg {
  readonly #plan: RelayedRequestPlan;
  readonly #owner: ModernLegOwner;
  #reading: Reading | undefined;
  /** Made when the backend first asks for more. */
  #rounds: InputRounds | undefined;

  constructor(plan: RelayedRequestPlan, owner: ModernLegOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Whether the backend has begun with the request: it may not be begun anew elsewhere. */
  get isBegun(): boolean {
    return this.#rounds?.round !== undefined;
  }

  /** The id under which the request goes out now. */
  sentId(callers: IdSpan): IdSpan {
    const id = this.#rounds?.round?.id;
    return id === undefined ? callers : { bytes: id, start: 0, end: id.length };
  }

  /** @returns `undefined` where the message is too large for what would have to be changed in it. */
  outgoing(message: OutgoingMessage): OutgoingMessage | undefined {
    const { session, upstream, bareName, message: call } = this.#plan;
    const envelope = envelopeIn(session, upstream);
    const changed = modernMessage(message, call, { envelope, round: this.#rounds?.round });
    return changed && { ...changed, head: modernHead(call.method, bareName) };
  }

  /**
   * Looks whether an answer is the answer.
   * @returns false when it is; otherwise the owner hears what becomes of it.
   */
  takes(bytes: Buffer, message: BackendMessage): boolean {
    const { upstream, message: call } = this.#plan;
    if (message.isError) return false;
    const result = bytes.subarray(message.bodyStart, message.bodyEnd);
    let isWithin = true;
    let isWhole = false;
    this.#reading = readResultType(upstream.subject, result, (type) => {
      this.#reading = undefined;
      if (type === 'complete') {
        if (isWithin) isWhole = true;
        else this.#owner.onWhole(bytes, message);
      } else if (type === 'input_required' && ASKING_METHODS.has(call.method)) this.#madeRounds.begin(result);
      else this.#owner.onNoInput(undefined);
    });
    isWithin = false;
    return !isWhole;
  }

  /** The client's answers do not come here any more. */
  onRetired(): void {
    this.#rounds?.onRetired();
  }

  /** Nobody waits for the request any more. */
  end(): void {
    this.#reading?.cancel();
    this.#rounds?.end();
  }

  get #madeRounds(): InputRounds {
    const { ids, session, upstream, metadata, deadlines } = this.#plan;
    return (this.#rounds ??= new InputRounds({ ids, session, upstream, metadata, deadlines }, this.#owner));
  }
}

/** With the level that the client has set for its session. */
function envelopeIn({ logLevel }: Session, { envelope }: UpstreamSession): Buffer {
  const level = logLevel === undefined ? undefined : readMember(logLevel, 'level');
  if (level === undefined) return envelope;
  return Buffer.concat([envelope, Buffer.from(`,"${LOG_LEVEL_KEY}":${JSON.stringify(level)}`)]);
}
