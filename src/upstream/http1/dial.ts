// Finds a socket for a connection: looks the host up, and tries its addresses in turn (RFC 8305). The next one is tried
// when one fails, and also when one takes long; the first that is connected is taken, the others are closed. An address
// that the gateway never connects to is refused here, at each connection, whatever the name meant before. Cold.
//
//   looking up ──addresses──> trying ──connected──> over, with a socket
//        └──no address, refused──────┴──all failed──> over, with a fault
import { isIP, type Socket } from 'node:net';
import type { NameFault, Names, NameWait } from '../../names/names.js';
import { firstObstacle } from '../../names/address-guard.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamFaultKind } from '../http/upstream-fault.js';
import { connectFaultKindOf, tellingKindOf } from './connect-fault.js';

export interface DialPlan {
  /** A name, or an address without brackets. */
  readonly host: string;
  /** Whose share of look-ups this is. */
  readonly subject: string;
  readonly isTls: boolean;
  /** Begins to connect to an address; the socket's events are the dial's until it hands it on. */
  open(address: string): Socket;
}

export interface DialHandler {
  /** The socket is connected, TLS apart, and has no listeners left of the dial's. */
  onSocket(socket: Socket, address: string): void;
  /** Never called from within the constructor. */
  onFault(kind: UpstreamFaultKind): void;
}

const KIND_OF_NAME_FAULT: Readonly<Record<NameFault, UpstreamFaultKind>> = {
  'not-found': 'name-not-resolved',
  'not-answered': 'name-not-resolved',
  'share-used': 'connections-share-used',
  busy: 'connections-used',
};

export class Dial {
  readonly #names: Names;
  readonly #plan: DialPlan;
  readonly #handler: DialHandler;
  readonly #tries = new Set<Socket>();
  readonly #kinds: UpstreamFaultKind[] = [];
  #addresses: readonly string[] = [];
  /** Of the address that is tried next. */
  #next = 0;
  #wait: NameWait | undefined;
  #stagger: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(names: Names, plan: DialPlan, handler: DialHandler) {
    this.#names = names;
    this.#plan = plan;
    this.#handler = handler;
    if (isIP(plan.host) !== 0) {
      this.#tryAll([plan.host]);
      return;
    }
    const known = names.known(plan.host);
    if (typeof known === 'object') this.#tryAll(known);
    else this.#wait = names.lookUp(plan.host, plan.subject, (outcome) => this.#onOutcome(outcome));
  }

  /** What it is when the time for all of connecting is over. */
  get timeoutKind(): UpstreamFaultKind {
    if (this.#addresses.length > 0) return 'connect-timeout';
    // A look-up that only waited for its turn says nothing of the host.
    return this.#names.isAsking(this.#plan.host) ? 'name-not-resolved' : 'connections-used';
  }

  /** Closes what was begun, without a word to the handler. */
  abandon(): void {
    this.#isOver = true;
    this.#wait?.abandon();
    clearTimeout(this.#stagger);
    for (const socket of this.#tries) this.#close(socket);
  }

  #onOutcome(outcome: readonly string[] | NameFault): void {
    if (typeof outcome === 'string') this.#fail(KIND_OF_NAME_FAULT[outcome]);
    else this.#tryAll(outcome);
  }

  #tryAll(addresses: readonly string[]): void {
    const obstacle = firstObstacle(this.#names.guard, addresses);
    if (obstacle !== undefined) {
      process.nextTick(() => this.#fail(obstacle));
      return;
    }
    this.#addresses = addresses;
    this.#tryNext();
  }

  #tryNext(): void {
    clearTimeout(this.#stagger);
    const address = this.#addresses[this.#next];
    if (address === undefined) return;
    this.#next += 1;
    const socket = this.#plan.open(address);
    this.#tries.add(socket);
    socket.once('connect', () => this.#onConnected(socket, address));
    socket.once('error', (error) => this.#onError(socket, error));
    if (this.#next < this.#addresses.length) {
      this.#stagger = setTimeout(() => this.#tryNext(), limits.nextAddressMs);
    }
  }

  #onConnected(socket: Socket, address: string): void {
    if (this.#isOver) return;
    this.#tries.delete(socket);
    socket.removeAllListeners('error');
    this.abandon();
    this.#handler.onSocket(socket, address);
  }

  #onError(socket: Socket, error: Error): void {
    if (this.#isOver) return;
    this.#tries.delete(socket);
    this.#kinds.push(connectFaultKindOf(error, this.#plan.isTls));
    if (this.#next < this.#addresses.length) this.#tryNext();
    else if (this.#tries.size === 0) this.#fail(tellingKindOf(this.#kinds));
  }

  #fail(kind: UpstreamFaultKind): void {
    if (this.#isOver) return;
    this.abandon();
    this.#handler.onFault(kind);
  }

  #close(socket: Socket): void {
    socket.removeAllListeners('connect');
    socket.removeAllListeners('error');
    // What it still has to say is of no interest, and must not end the process.
    socket.on('error', () => {});
    socket.destroy();
  }
}
