// The connections to one backend origin, and the calls that wait for one. Each subject has a share of the connections; subjects that wait
// are served round robin. If a backend closes connections after a response without announcing it, each call gets a new connection, so that
// no call is lost. Hot path: taking a free connection is one pop.
//
//   call ──share left, connection free or can be opened──> on a connection ──over──> released: the next of the queue
//     └──> waits: round robin, or, when its share is used up, until one of its subject's own calls is over
// A call whose subject may not take the last connections of the process is passed over, and waits if this pool has busy connections.
import { FairQueueEntry, FairQueue, ListNode } from '../fair/index.js';
import type { UpstreamFaultKind } from './upstream-fault.js';
import { PoolUse, type BackendShares, type SubjectUse } from './backend-shares.js';
import type { ConnectionTarget } from './connection-target.js';
import { Http1Connection, type ConnectionOwner, type Http1Call, type WriteBatch } from './http1-connection.js';
import { connectionBounds } from './connection-bounds.js';

/** After so many connections in a row that were closed soon after their first answer, connections are not reused until one stays open. */
export const UPSTREAM_CLOSED_IN_ROW_MAX = 2;

/** How many subjects one `#serveWaiting` passes over because they may not take the last connections of the process. */
const SKIPPED_SUBJECTS_MAX = 32;

export interface PoolBounds {
  readonly connectionsMax: number;
  readonly connectionsPerSubjectMax: number;
  readonly connectingMax: number;
  readonly waitingMax: number;
  readonly waitingPerSubjectMax: number;
}

export interface PoolOwner {
  readonly shares: BackendShares;
  /** Closes a free connection of any origin, to make room for another. @returns whether there was one. */
  tryMakeRoom(): boolean;
}

export class OriginPool extends ListNode implements ConnectionOwner {
  readonly openedForSubject: SubjectUse;
  readonly #owner: PoolOwner;
  readonly #target: ConnectionTarget;
  readonly #batch: WriteBatch;
  readonly #bounds: PoolBounds;
  readonly #connections = new Set<Http1Connection>();
  /** The free connections. The last one is used next, so that the others can age and close. */
  #free: Http1Connection[] = [];
  #connectingCount = 0;
  #addresses: readonly string[] | undefined;
  /** Connections in a row that were closed after their first response. */
  #closedInRowCount = 0;
  /** A free connection of a backend that is assumed not to keep connections, in case it does. */
  #watchedConnection: Http1Connection | undefined;
  readonly #waitingCalls: FairQueue<Http1Call>;
  readonly #uses = new Map<string, PoolUse>();
  #isClosed = false;

  constructor(target: ConnectionTarget, use: SubjectUse, owner: PoolOwner, batch: WriteBatch, bounds: PoolBounds) {
    super();
    this.openedForSubject = use;
    this.#target = target;
    this.#owner = owner;
    this.#bounds = bounds;
    this.#batch = batch;
    this.#waitingCalls = new FairQueue(bounds.waitingMax, bounds.waitingPerSubjectMax);
  }

  get origin(): string {
    return this.#target.origin;
  }

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  get isIdle(): boolean {
    const unusedCount = this.#free.length + (this.#watchedConnection === undefined ? 0 : 1);
    return this.#connections.size === unusedCount && this.#waitingCalls.count === 0;
  }

  send(call: Http1Call): void {
    const use = this.#useOf(call.subject);
    if (use.connectionCount >= this.#bounds.connectionsPerSubjectMax) {
      this.#wait(call, use);
      return;
    }
    const { shares } = this.#owner;
    if (use.subjectUse.connectionCount >= shares.bounds.connectionsPerSubjectMax) {
      call.failLater('connections-share-used');
      return;
    }
    let connection: Http1Connection | undefined;
    if (shares.mayUseOneMore(use.subjectUse))
      connection = this.#takeFree() ?? (this.#tryMakeRoom() ? this.#open(call.subject) : undefined);
    if (connection !== undefined) this.#assign(call, use, connection);
    else if (this.#connections.size > this.#free.length) this.#wait(call, use);
    // If no connection is busy, there is nothing to wait for.
    else call.failLater('connections-used');
  }

  /** Closes old connections, and serves waiting calls: nothing tells a pool that another pool has given a connection back. */
  sweep(): void {
    if (this.#target.isHostName && !this.isEmpty) this.#refreshAddresses();
    for (const connection of this.#free) connection.sweep();
    this.#watchedConnection?.sweep();
    if (this.#watchedConnection?.hasStayedOpen === true) this.#trust(this.#watchedConnection);
    this.#serveWaiting();
    // This comes last, because `shares` forgets unused subjects next.
    for (const [subject, use] of this.#uses) {
      if (use.connectionCount === 0 && !use.isPaused) this.#uses.delete(subject);
    }
  }

  /** Closes the connection that has been free for the longest. */
  tryCloseFree(): boolean {
    const connection = this.#free.shift();
    if (connection === undefined) return this.#tryCloseWatched();
    this.#discard(connection);
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#failWaiting('connection-lost');
    await Promise.all(Array.from(this.#connections, (connection) => connection.destroy()));
  }

  onConnected(): void {
    this.#connectingCount -= 1;
    this.#serveWaiting();
  }

  onCallOver(call: Http1Call): void {
    const { poolUse } = call;
    if (poolUse === undefined) return;
    call.poolUse = undefined;
    poolUse.connectionCount -= 1;
    this.#owner.shares.noteFree(poolUse.subjectUse);
    if (!poolUse.isPaused) return;
    poolUse.isPaused = false;
    this.#waitingCalls.resume(call.subject);
  }

  onFreed(connection: Http1Connection): void {
    if (connection.answerCount > 1) this.#closedInRowCount = 0;
    if (this.#closedInRowCount < UPSTREAM_CLOSED_IN_ROW_MAX) {
      this.#free.push(connection);
    } else if (this.#watchedConnection === undefined) {
      this.#watchedConnection = connection;
    } else {
      this.#discard(connection);
    }
    if (this.#waitingCalls.count > 0) this.#serveWaiting();
  }

  onUnassigned(connection: Http1Connection): void {
    this.#serveWaiting(connection);
  }

  onLost(connection: Http1Connection, unsent: Http1Call | undefined, refusal: UpstreamFaultKind | undefined): void {
    const index = this.#free.indexOf(connection);
    if (index !== -1) this.#free.splice(index, 1);
    if (this.#watchedConnection === connection) this.#watchedConnection = undefined;
    if (connection.isClosedAfterAnswer) this.#closedInRowCount += 1;
    this.#forget(connection);
    if (refusal !== undefined) {
      this.#connectingCount -= 1;
      // Without an established connection, the waiting calls fail, too.
      const concernsWaiting = refusal !== 'connections-share-used' && refusal !== 'connections-used';
      if (concernsWaiting && this.#connectingCount === this.#connections.size) this.#failWaiting(refusal);
    }
    if (unsent !== undefined) this.#sendAgain(unsent);
    this.#serveWaiting();
    if (this.#connections.size === 0) this.#failWaiting('connections-used');
  }

  /** Marks connections to addresses that the host no longer has: they are not reused. */
  #refreshAddresses(): void {
    const { dependencies, host } = this.#target;
    const addresses = dependencies.names.refresh(host, this.openedForSubject.subject);
    if (addresses === undefined || addresses === this.#addresses) return;
    this.#addresses = addresses;
    for (const connection of this.#connections) {
      connection.isOutdated = connection.address !== undefined && !addresses.includes(connection.address);
    }
  }

  #trust(connection: Http1Connection): void {
    this.#closedInRowCount = 0;
    this.#watchedConnection = undefined;
    this.#free.push(connection);
    this.#serveWaiting();
  }

  #useOf(subject: string): PoolUse {
    let use = this.#uses.get(subject);
    if (use === undefined) {
      use = new PoolUse(this.#owner.shares.useOf(subject));
      this.#uses.set(subject, use);
    }
    return use;
  }

  #assign(call: Http1Call, use: PoolUse, connection: Http1Connection): void {
    call.poolUse = use;
    use.connectionCount += 1;
    this.#owner.shares.noteBusy(use.subjectUse);
    connection.send(call);
  }

  /** Sends the call on a new connection, because other free ones may have been closed, too. */
  #sendAgain(call: Http1Call): void {
    call.unsentCount += 1;
    if (this.#isClosed || call.unsentCount > connectionBounds.upstreamUnsentTriesMax)
      call.fail('connection-lost', true);
    else this.#assign(call, this.#useOf(call.subject), this.#open(call.subject));
  }

  #takeFree(): Http1Connection | undefined {
    for (let connection = this.#free.pop(); connection !== undefined; connection = this.#free.pop()) {
      if (connection.isUsable) return connection;
      void connection.destroy();
    }
    return undefined;
  }

  /** Sends waiting calls on free, new and spare connections. @param spare a connection being opened whose call was aborted. */
  #serveWaiting(spare?: Http1Connection): void {
    if (!this.#waitingCalls.isReady || this.#isClosed) return;
    const { shares } = this.#owner;
    let connection = spare;
    let passesLeft = Math.min(this.#waitingCalls.keyCount, SKIPPED_SUBJECTS_MAX);
    for (let call = this.#waitingCalls.next; call !== undefined; call = this.#waitingCalls.next) {
      const use = this.#useOf(call.subject);
      if (!shares.mayUseOneMore(use.subjectUse)) {
        if (passesLeft === 0) return;
        passesLeft -= 1;
        this.#waitingCalls.skip();
        continue;
      }
      connection ??= this.#takeFree();
      if (connection === undefined && !this.#tryMakeRoom()) return;
      this.#waitingCalls.take();
      call.queueEntry = undefined;
      this.#assign(call, use, connection ?? this.#open(call.subject));
      if (use.connectionCount >= this.#bounds.connectionsPerSubjectMax) this.#pauseWaiting(call.subject, use);
      connection = undefined;
    }
  }

  #wait(call: Http1Call, use: PoolUse): void {
    const queueEntry = this.#waitingCalls.add(call.subject, call);
    if (!(queueEntry instanceof FairQueueEntry)) {
      call.failLater(queueEntry === 'subjectMax' ? 'backend-share-used' : 'backend-busy');
      return;
    }
    call.queueEntry = queueEntry;
    if (use.connectionCount >= this.#bounds.connectionsPerSubjectMax) this.#pauseWaiting(call.subject, use);
  }

  #pauseWaiting(subject: string, use: PoolUse): void {
    if (use.isPaused || this.#waitingCalls.countOf(subject) === 0) return;
    use.isPaused = true;
    this.#waitingCalls.pause(subject);
  }

  #failWaiting(kind: UpstreamFaultKind): void {
    for (const call of this.#waitingCalls.takeAll()) {
      call.queueEntry = undefined;
      call.failLater(kind);
    }
  }

  /** Whether a connection may be opened; closes a free one if that is necessary. */
  #tryMakeRoom(): boolean {
    if (this.#connectingCount >= this.#bounds.connectingMax) return false;
    if (this.#connections.size >= this.#bounds.connectionsMax && !this.#tryCloseWatched()) return false;
    return !this.#owner.shares.isFull || this.#owner.tryMakeRoom();
  }

  /** Closes the watched connection, if there is one: it has no call. */
  #tryCloseWatched(): boolean {
    const connection = this.#watchedConnection;
    if (connection === undefined) return false;
    this.#watchedConnection = undefined;
    this.#discard(connection);
    return true;
  }

  #open(subject: string): Http1Connection {
    const connection = new Http1Connection(this.#target, subject, this.#batch, this);
    this.#connections.add(connection);
    this.#connectingCount += 1;
    this.#owner.shares.connectionCount += 1;
    return connection;
  }

  #discard(connection: Http1Connection): void {
    this.#forget(connection);
    void connection.destroy();
  }

  #forget(connection: Http1Connection): void {
    if (this.#connections.delete(connection)) this.#owner.shares.connectionCount -= 1;
  }
}
