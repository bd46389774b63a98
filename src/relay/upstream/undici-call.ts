// One request on its way through undici: the relay's `UpstreamCall` on one side, undici's handler on the other. Hot:
// one of these for each call. It keeps the order and the promises that http-upstream.ts makes.
//
//   waiting (for a connection) → sent to one (which may have to connect) → written → head → body → over
import type { Dispatcher } from 'undici';
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from './http-upstream.js';
import type { UndiciConnection } from './undici-connection.js';
import { FaultError, faultKindOf } from './undici-fault.js';
import { upstreamFault, type UpstreamFaultKind } from './upstream-fault.js';

export class UndiciCall implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly request: UpstreamRequest;
  /** Where it waits for a connection; set by who lets it wait. */
  queue: Set<UndiciCall> | undefined;
  /** What it was sent on. */
  connection: UndiciConnection | undefined;
  /** `undefined` once the call is over, for whatever reason: nobody listens any more. */
  #handler: UpstreamHandler | undefined;
  /** There from the moment in which the request is written. */
  #controller: Dispatcher.DispatchController | undefined;
  #isPaused = false;
  #isDraining = false;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.request = request;
    this.#handler = handler;
  }

  get isWritten(): boolean {
    return this.#controller !== undefined;
  }

  abort(): void {
    if (this.#handler === undefined) return;
    this.#handler = undefined;
    this.queue?.delete(this);
    // When it is sent and not yet written, `onRequestStart` withdraws it.
    this.#controller?.abort(new FaultError('connection-lost'));
  }

  pause(): void {
    if (this.#isDraining) return;
    this.#isPaused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    // Not at once: undici's parser, which is one for all connections, must not be entered from one of its callbacks.
    queueMicrotask(() => {
      if (!this.#isPaused && this.#handler !== undefined) this.#controller?.resume();
    });
  }

  /** Lets out what has been read, paused or not: the backend has closed the connection, so it is the last of it. */
  drain(): void {
    this.#isDraining = true;
    this.#isPaused = false;
    if (this.#handler !== undefined) this.#controller?.resume();
  }

  /** Ends the call with a fault. Later, because a caller of `dispatch` hears nothing before it has its call in hand. */
  fail(kind: UpstreamFaultKind): void {
    const fault = upstreamFault(kind, !this.isWritten);
    queueMicrotask(() => {
      const handler = this.#handler;
      this.#handler = undefined;
      handler?.onFault(fault);
    });
  }

  /** undici is about to write the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The one way to withdraw a request that does not cost its connection. undici hands it to `onResponseError`.
    if (this.#handler === undefined) throw WITHDRAWN;
    this.#controller = controller;
    if (this.#isPaused) controller.pause();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // 1xx: the answer is still to come.
    if (status < 200) return;
    // undici's own types know less than it does: these are the buffers off the wire, name and value in turn.
    const rawHeaders = controller.rawHeaders as Buffer[];
    let contentType = '';
    let sessionId = '';
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index]!;
      const value = rawHeaders[index + 1]!;
      // Lengths first: turning every name into a string costs more than all the rest of this.
      if (name.length === CONTENT_TYPE.length && isNamed(name, CONTENT_TYPE)) {
        contentType = mediaTypeOf(value.toString('latin1'));
      } else if (name.length === SESSION_ID.length && isNamed(name, SESSION_ID)) {
        sessionId = value.toString('latin1');
      } else if (name.length === CONTENT_ENCODING.length && isNamed(name, CONTENT_ENCODING)) {
        if (value.toString('latin1').toLowerCase() === 'identity') continue;
        // No request asks for an encoding, and a caller could not be told of one.
        controller.abort(new FaultError('answer-invalid'));
        return;
      }
    }
    try {
      this.#handler?.onHead(status, contentType, sessionId);
    } catch (error) {
      throwOutside(error);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      this.#handler?.onData(chunk);
    } catch (error) {
      throwOutside(error);
    }
  }

  onResponseEnd(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    // First, so that a request that follows from the answer finds this connection free.
    this.connection?.onCallDone();
    try {
      handler?.onEnd();
    } catch (error) {
      throwOutside(error);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (error === WITHDRAWN) {
      this.connection?.onCallDone();
      return;
    }
    this.connection?.onCallLost();
    this.fail(faultKindOf(error));
  }
}

const WITHDRAWN = new Error('withdrawn');
const CONTENT_TYPE = 'content-type';
const SESSION_ID = 'mcp-session-id';
const CONTENT_ENCODING = 'content-encoding';

/** A handler that throws breaks an invariant of ours: undici must not make a fault of the backend's of it. */
function throwOutside(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function isNamed(name: Buffer, lowerCaseName: string): boolean {
  return name.toString('latin1').toLowerCase() === lowerCaseName;
}

/** In lower case, without its parameters. */
function mediaTypeOf(value: string): string {
  const end = value.indexOf(';');
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}
