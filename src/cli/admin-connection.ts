// Requests to a running dataplane's admin listener, with failures in words for people.
import { bodyText, limits, exitStatus } from '../shared/index.js';
import { CliFault, exitStatusOf } from './command-result.js';

export class AdminConnection {
  readonly #origin: string;

  constructor({ host, port }: { readonly host: string; readonly port: number }) {
    this.#origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  /** @returns the response's JSON. Throws a CliFault. */
  async get(path: string): Promise<unknown> {
    return this.#exchange(path, { method: 'GET' });
  }

  /** As `get`; `undefined` for a 404. */
  async find(path: string): Promise<unknown> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof CliFault && error.exitStatus === exitStatus.notFound) return undefined;
      throw error;
    }
  }

  async put(path: string, value: unknown): Promise<unknown> {
    return this.#exchange(path, { method: 'PUT', body: JSON.stringify(value) });
  }

  async #exchange(path: string, init: RequestInit): Promise<unknown> {
    let response: Response;
    let answer: unknown;
    try {
      const signal = AbortSignal.timeout(limits.adminRequestMsMax);
      response = await fetch(this.#origin + path, { ...init, headers: ACCEPT, signal, redirect: 'error' });
      answer = JSON.parse(await bodyText(response, signal));
    } catch (error) {
      const advice = 'start a dataplane, or give its --admin-address';
      const words = `no admin listener answers at ${this.#origin}; ${advice}`;
      throw new CliFault(exitStatus.unavailable, words, error);
    }
    if (response.ok) return answer;
    const { detail } = Object(answer) as { readonly detail?: unknown };
    const words = typeof detail === 'string' ? detail : `it answered with status ${response.status}`;
    throw new CliFault(exitStatusOf(response.status), words);
  }
}

// Without this header, /metrics would answer in Prometheus's own formats.
const ACCEPT = { accept: 'application/json' };
