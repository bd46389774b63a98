// Opens a socket: looks up the host, and tries its addresses in order (RFC 8305), the next one as soon as one fails or is slow. The first
// to connect wins. Each dial checks for forbidden addresses, because a name may change its addresses. Cold path.
//
//   looking up ──addresses──> trying ──connected──> over, with a socket
//        └──no address, refused──────┴──all failed──> over, with a fault
import { isIP, type Socket } from 'node:net';
import type { NameFault, Names, NameWait } from './names/names.js';
import { firstObstacle } from './names/address-guard.js';
import type { UpstreamFaultKind } from './upstream-fault.js';

export function connectFaultKindOf(error: unknown, isTls: boolean): UpstreamFaultKind {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'connection-refused';
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  // Errors of any origin but the system call `connect` come from the TLS handshake.
  if (isTls && syscall !== 'connect') return 'tls-failed';
  return 'connect-failed';
}

/** The fault when all addresses have failed: any kind but `connect-failed` if there is one, because it says more. */
export function mostTellingKind(kinds: readonly UpstreamFaultKind[]): UpstreamFaultKind {
  return kinds.find((kind) => kind !== 'connect-failed') ?? 'connect-failed';
}

/** Time before the next address is tried in parallel (RFC 8305). */
export const NEXT_ADDRESS_MS = 250;

interface DialPlan {
  readonly host: string;
  /** The subject in whose share the look-up counts. */
  readonly subject: string;
  readonly isTls: boolean;
  /** Begins to connect. The dial owns the socket's events until `onSocket`. */
  open(address: string): Socket;
}

interface DialHandler {
  /** Called when the socket is connected, before any TLS handshake has ended. The dial has removed its listeners. */
  onSocket(socket: Socket, address: string): void;
  /** Called when no socket can be had; never synchronously. */
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
  readonly #connectingSockets = new Set<Socket>();
  readonly #faultKinds: UpstreamFaultKind[] = [];
  #addresses: readonly string[] = [];
  #nextIndex = 0;
  #wait: NameWait | undefined;
  #nextTryTimer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(names: Names, plan: DialPlan, handler: DialHandler) {
    this.#names = names;
    this.#plan = plan;
    this.#handler = handler;
    if (isIP(plan.host) !== 0) {
      this.#tryAll([plan.host]);
      return;
    }
    const known = names.knownOutcome(plan.host);
    if (typeof known === 'object') this.#tryAll(known);
    else
      this.#wait = names.lookUp(plan.host, plan.subject, (outcome) => {
        if (typeof outcome === 'string') this.#fail(KIND_OF_NAME_FAULT[outcome]);
        else this.#tryAll(outcome);
      });
  }

  /** The fault if the time for connecting ends now. */
  get timeoutKind(): UpstreamFaultKind {
    if (this.#addresses.length > 0) return 'connect-timeout';
    // A look-up that waits in the queue says nothing about the host.
    return this.#names.isQuerying(this.#plan.host) ? 'name-not-resolved' : 'connections-used';
  }

  /** Ends the dial without calling the handler. */
  abandon(): void {
    this.#isOver = true;
    this.#wait?.unlink();
    clearTimeout(this.#nextTryTimer);
    for (const socket of this.#connectingSockets) {
      socket.removeAllListeners('connect');
      socket.removeAllListeners('error');
      // Later errors are ignored: without a listener, they would end the process.
      socket.on('error', () => {}).destroy();
    }
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
    clearTimeout(this.#nextTryTimer);
    const address = this.#addresses[this.#nextIndex];
    if (address === undefined) return;
    this.#nextIndex += 1;
    const socket = this.#plan.open(address);
    this.#connectingSockets.add(socket);
    socket.once('connect', () => this.#onConnected(socket, address));
    socket.once('error', (error) => this.#onError(socket, error));
    if (this.#nextIndex < this.#addresses.length) {
      this.#nextTryTimer = setTimeout(() => this.#tryNext(), NEXT_ADDRESS_MS);
    }
  }

  #onConnected(socket: Socket, address: string): void {
    if (this.#isOver) return;
    this.#connectingSockets.delete(socket);
    socket.removeAllListeners('error');
    this.abandon();
    this.#handler.onSocket(socket, address);
  }

  #onError(socket: Socket, error: Error): void {
    if (this.#isOver) return;
    this.#connectingSockets.delete(socket);
    this.#faultKinds.push(connectFaultKindOf(error, this.#plan.isTls));
    if (this.#nextIndex < this.#addresses.length) this.#tryNext();
    else if (this.#connectingSockets.size === 0) this.#fail(mostTellingKind(this.#faultKinds));
  }

  #fail(kind: UpstreamFaultKind): void {
    if (this.#isOver) return;
    this.abandon();
    this.#handler.onFault(kind);
  }
}
