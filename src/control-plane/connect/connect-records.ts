// The state of consents in progress, sealed in the store, one record per user and backend: the links already used, and
// the one consent under way. Any control plane can complete a consent that another began. Each new consent sweeps a few
// expired records. Cold path.
import { type SecretKeys, openText, sealText, GRANT_PREFIX, type GrantClient } from '../../credentials/index.js';
import { limits } from '../../shared/index.js';
import { type RecordKey, type RecordStore, retrySwap } from '../../store/index.js';
import type { UserAuth } from '../../user-config/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { Discovered } from './discovery.js';

/** Records of unfinished consents that each new consent checks for expired ones. The next consent continues behind them. */
export const CONNECTS_SWEPT_MAX = 32;

export interface BegunConsent extends Discovered {
  /** Part of the `state` parameter, which the authorization server sends back. */
  readonly nonce: string;
  /** A hash that identifies the browser that began the consent. */
  readonly browser: string;
  readonly grantKey: string;
  readonly subject: string;
  readonly backendName: string;
  readonly origin: string;
  readonly path: string;
  readonly auth: UserAuth;
  readonly client: GrantClient;
  readonly verifier: string;
  readonly untilMs: number;
}

interface ConnectRecord {
  readonly usedTickets: readonly { readonly id: string; readonly untilMs: number }[];
  readonly begun?: BegunConsent | undefined;
}

const PREFIX = 'connects/';

export class ConnectRecords {
  readonly #records: RecordStore;
  readonly #keys: SecretKeys;
  #sweptTo = '';

  constructor(records: RecordStore, keys: SecretKeys) {
    this.#records = records;
    this.#keys = keys;
  }

  /** Replaces any consent under way. Throws a `ControlPlaneFault` if the ticket was used, or too many were. @param ticketId of the link. */
  async begin(ticketId: string, begun: BegunConsent, nowMs: number): Promise<void> {
    const key = keyOf(begun.grantKey);
    await retrySwap(async () => {
      const { bytes, record } = await this.#read(key);
      const used = record.usedTickets.filter(({ untilMs }) => nowMs < untilMs);
      if (used.some(({ id }) => id === ticketId))
        throw new ControlPlaneFault('consent-over', 'This link has already been used.');
      if (used.length >= limits.connectStartsMax)
        throw new ControlPlaneFault(
          'consents-full',
          'Too many links for this backend were used recently: try again in a few minutes.',
        );
      const usedTickets = [...used, { id: ticketId, untilMs: begun.untilMs }];
      return (await this.#write(key, bytes, { usedTickets, begun })) || undefined;
    });
    await this.#sweep(nowMs);
  }

  /** Single use: a second call finds nothing. @returns `undefined` if no unexpired consent has this nonce. */
  async end(grantKey: string, nonce: string, nowMs: number): Promise<BegunConsent | undefined> {
    const key = keyOf(grantKey);
    const { begun } = await retrySwap(async () => {
      const { bytes, record } = await this.#read(key);
      if (record.begun?.nonce !== nonce) return { begun: undefined };
      const { usedTickets } = record;
      return (await this.#write(key, bytes, { usedTickets })) ? { begun: record.begun } : undefined;
    });
    return begun !== undefined && nowMs < begun.untilMs ? begun : undefined;
  }

  async #read(key: RecordKey): Promise<{ readonly bytes: Buffer | undefined; readonly record: ConnectRecord }> {
    const bytes = await this.#records.read(key);
    return { bytes, record: (bytes && this.#open(key, bytes)) ?? { usedTickets: [] } };
  }

  /** `undefined` for a record that no key opens: its consent cannot be continued. */
  #open({ key }: RecordKey, bytes: Buffer): ConnectRecord | undefined {
    const opened = openText(this.#keys, key, bytes);
    return opened.kind === 'opened' ? (JSON.parse(opened.text) as ConnectRecord) : undefined;
  }

  async #write(key: RecordKey, expected: Buffer | undefined, record: ConnectRecord): Promise<boolean> {
    const { first } = this.#keys;
    if (first === undefined) throw new Error('there is no key to seal with');
    const value = sealText(first, key.key, JSON.stringify(record));
    return this.#records.swap([{ ...key, expected, value }]);
  }

  async #sweep(nowMs: number): Promise<void> {
    const keys = await this.#records.listKeys(PREFIX, this.#sweptTo, CONNECTS_SWEPT_MAX);
    this.#sweptTo = keys.length < CONNECTS_SWEPT_MAX ? '' : (keys.at(-1) ?? '');
    const values = await this.#records.readMany(keys);
    for (const [index, key] of keys.entries()) {
      const expected = values[index];
      const place: RecordKey = { space: 'records', key };
      const record = expected && this.#open(place, expected);
      const isOld = record?.usedTickets.every(({ untilMs }) => untilMs <= nowMs) !== false;
      if (expected !== undefined && isOld) await this.#records.swap([{ ...place, expected, value: undefined }]);
    }
  }
}

function keyOf(grantKey: string): RecordKey {
  return { space: 'records', key: PREFIX + grantKey.slice(GRANT_PREFIX.length) };
}
