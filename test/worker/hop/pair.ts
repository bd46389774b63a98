// Two workers reduced to their hops: slot 0 hops to slot 1 over a real socket.
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import type { Exchange } from '../../../src/exchange/exchange.js';
import { createLogger } from '../../../src/shared/logger.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { createMessageMemories, type MessageMemory } from '../../../src/fair/message-memory.js';
import type { ForwardedIdentity } from '../../../src/worker/hop/heads.js';
import { HopListener } from '../../../src/worker/hop/intake.js';
import { Hops, hopSocketPath } from '../../../src/worker/hop/hops.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { until } from '../../support/until.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { createAccounts } from '../../support/shares.js';

export const OWNER_SLOT = 1;
export const BODY_BYTES_MAX = 16 * 1024 * 1024;
export const HOP: ForwardedIdentity = { subject: 'a-subject', virtualHostId: 'a-host' };
export const logger = createLogger('silent', {});

export interface Arrival {
  readonly hop: ForwardedIdentity;
  readonly exchange: Exchange;
}

/** Memory for answers, with the room of a worker. */
export function roomForAll(t: Test): MessageMemory {
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  return createMessageMemories(createAccounts(), deadlines).answers;
}

export class HopPair {
  readonly directory: string;
  readonly secret = randomBytes(32);
  readonly hops: Hops;
  /** The requests that reached the owner, in order. */
  readonly arrivals: Arrival[] = [];
  /** Called synchronously for each arrival. */
  onArrival: (arrival: Arrival) => void = () => {};
  #listener: HopListener | undefined;
  readonly #answerMemory: MessageMemory;

  constructor(t: Test, answerMemory: MessageMemory = roomForAll(t)) {
    this.#answerMemory = answerMemory;
    this.directory = createScratchDirectory(t);
    this.hops = new Hops(this.directory, this.secret, logger);
    t.teardown(async () => {
      this.hops.close();
      await this.stopOwner();
    });
  }

  get ownerPath(): string {
    return hopSocketPath(this.directory, OWNER_SLOT);
  }

  async startOwner(): Promise<void> {
    this.#listener = new HopListener(this.ownerPath, {
      secret: this.secret,
      bodyBytesMax: BODY_BYTES_MAX,
      answerMemory: this.#answerMemory,
      logger,
      onExchange: (hop, exchange) => {
        this.arrivals.push({ hop, exchange });
        this.onArrival({ hop, exchange });
      },
    });
    await this.#listener.prepare();
    this.#listener.moveIntoPlace();
  }

  /** Starts another owner in the same place. @returns the first owner, which does not know about it yet. */
  async replaceOwner(): Promise<HopListener> {
    const predecessor = this.#listener;
    if (predecessor === undefined) throw new Error('there is no owner');
    await this.startOwner();
    return predecessor;
  }

  async stopOwner(): Promise<void> {
    await this.#listener?.close();
    this.#listener = undefined;
  }

  forward(exchange: RecordedExchange, hop: ForwardedIdentity = HOP): RecordedExchange {
    this.hops.forward(OWNER_SLOT, hop, exchange, exchange.onFailure);
    return exchange;
  }

  /** Forwards a request and waits until the owner has the exchange. */
  async arrive(exchange: RecordedExchange, hop: ForwardedIdentity = HOP): Promise<Exchange> {
    const arrivedBefore = this.arrivals.length;
    this.forward(exchange, hop);
    await until(() => this.arrivals.length > arrivedBefore, 'the request at its owner');
    return (this.arrivals[arrivedBefore] as Arrival).exchange;
  }

  /** Makes a whole hop, from request to response. */
  async roundTrip(): Promise<RecordedExchange['outcome']> {
    const downstream = new RecordedExchange();
    const exchange = await this.arrive(downstream);
    exchange.respond(200, 'text/plain', 'alive');
    await until(() => downstream.outcome !== 'none', 'the answer of a new hop');
    return downstream.outcome;
  }
}

export async function startHopPair(t: Test, answerMemory?: MessageMemory): Promise<HopPair> {
  const pair = new HopPair(t, answerMemory);
  await pair.startOwner();
  return pair;
}
