// Finds the keys that verify a token: only those of its issuer. Cold path, except for one look-up for each token that was not seen before.
import {
  type TokenOptions,
  type IssuerKeySource,
  InvalidValue,
  isKeyUrl,
  keysOfJwks,
  type VerificationKey,
} from '../config/index.js';
import { limits, type Logger, readBodyText } from '../shared/index.js';
import { IssuerKeys, type IssuerKeyBounds } from './issuer-keys.js';
import { KeyFiles } from './key-files.js';
import type { KeySet } from './key-set.js';

/** Time to fetch an issuer's keys, including the discovery of their URL. */
const KEY_FETCH_MS_MAX = 5_000;

/** Fetches a URL. It must not follow redirects. */
export type KeyFetch = (
  url: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
) => Promise<Response>;

export interface KeyDependencies {
  readonly fetch?: KeyFetch | undefined;
}

const fetchDirectly: KeyFetch = (url, signal, headers) => fetch(url, { headers, redirect: 'error', signal });

/** Fetches an issuer's keys from the configured URL, or else from the one in its metadata. Rejects with a message without the URL. */
export async function fetchKeys(
  source: IssuerKeySource,
  isPlainTextAllowed: boolean,
  timeoutMs: number = KEY_FETCH_MS_MAX,
  fetch: KeyFetch = fetchDirectly,
): Promise<readonly VerificationKey[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const url = source.url ?? (await discoverKeyUrl(source.issuer, isPlainTextAllowed, signal, fetch));
    return keysOfJwks(await fetchText(url, signal, fetch), 'issuer');
  } catch (error) {
    throw new Error(fetchFailureReason(error), { cause: error });
  }
}

/** The URL of the keys, from the issuer's metadata: OpenID Connect Discovery 1.0 section 4, or else RFC 8414 section 3. */
async function discoverKeyUrl(
  issuer: string,
  isPlainTextAllowed: boolean,
  signal: AbortSignal,
  fetch: KeyFetch,
): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const urls = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  let failure: unknown;
  for (const url of urls) {
    try {
      return keyUrlOf(await fetchText(url, signal, fetch), issuer, isPlainTextAllowed);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

function keyUrlOf(text: string, issuer: string, isPlainTextAllowed: boolean): string {
  const document = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
  const { issuer: namedIssuer, jwks_uri: url } = document ?? {};
  // Otherwise, the author of one issuer's metadata could impersonate another issuer.
  if (namedIssuer !== issuer) throw new Error('its metadata names another issuer');
  if (typeof url === 'string' && isKeyUrl(url, isPlainTextAllowed)) return url;
  throw new Error('its metadata has no https address of its keys');
}

async function fetchText(url: string, signal: AbortSignal, fetch: KeyFetch): Promise<string> {
  const response = await fetch(url, signal, { accept: 'application/jwk-set+json, application/json' });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  const message = `its response has more than ${limits.keySetBytesMax} bytes`;
  return readBodyText(response, signal, limits.keySetBytesMax, () => new Error(message));
}

/** Why the keys could not be fetched, without the URL. A `TypeError` of `fetch` has its reason in `cause`. */
function fetchFailureReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if (error.name === 'TimeoutError') return 'it took too long';
  if (error instanceof InvalidValue) return `its answer ${error.message}`;
  if (error instanceof SyntaxError) return 'its response is not JSON';
  const { cause } = error;
  if (!(error instanceof TypeError)) return error.message;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code ?? (cause instanceof Error ? cause.message : 'it cannot be reached');
}

export interface KeySource {
  readonly keys: KeySet;
  /** Whether the keys were never fetched, or not recently: then a token can be neither accepted nor rejected. */
  readonly areUnknown?: boolean;
  /** Fetches the keys again. Resolves when they are the newest available. */
  renew?(): Promise<void>;
}

/** @param obstacle why keys cannot be fetched or read; `''` if all can. @param hasNoKey whether no token can be verified. */
export type KeyObstacleListener = (obstacle: string, hasNoKey: boolean) => void;

export class TokenKeys {
  readonly #files: KeyFiles;
  readonly #issuers = new Map<string, IssuerKeys>();
  readonly #sources = new Map<string, KeySource>();
  /** Called when a key is gone: tokens that it verified are no longer valid. */
  onKeyLost: () => void = () => {};
  onObstacle: KeyObstacleListener = () => {};

  constructor(
    options: TokenOptions & KeyDependencies,
    bounds: IssuerKeyBounds & { readonly keyFileCheckMs?: number } = limits,
  ) {
    const onChange = (before: KeySet): void => {
      this.#reportLoss(this.#files.keys, before);
      this.#reportObstacle();
    };
    this.#files = new KeyFiles(options, onChange, () => this.#reportObstacle(), bounds.keyFileCheckMs);
    for (const issuer of options.issuers) this.#sources.set(issuer, this.#files);
    for (const source of options.issuerKeys) {
      const keys: IssuerKeys = new IssuerKeys(source, {
        fetchKeys: () => fetchKeys(source, options.isPlainTextAllowed, KEY_FETCH_MS_MAX, options.fetch),
        graceMs: options.issuerKeyGraceMs,
        bounds,
        onChange: (before) => this.#reportLoss(keys.keys, before),
        onAvailabilityChange: () => this.#reportObstacle(),
      });
      this.#issuers.set(source.issuer, keys);
      this.#sources.set(source.issuer, keys);
    }
  }

  get isEmpty(): boolean {
    return this.#files.keys.isEmpty && this.#issuers.size === 0;
  }

  keysOfIssuer(issuer: string): KeySource | undefined {
    return this.#sources.get(issuer);
  }

  /** Watches key files and issuers' keys for changes. Resolves once the keys match the files; does not wait for issuers. */
  async watch(logger: Logger): Promise<void> {
    for (const keys of this.#issuers.values()) void keys.watch(logger);
    await this.#files.watch(logger);
  }

  close(): void {
    this.#files.close();
    for (const keys of this.#issuers.values()) keys.close();
  }

  #reportLoss(keys: KeySet, before: KeySet): void {
    if (keys.lacksSomeOf(before)) this.onKeyLost();
  }

  #reportObstacle(): void {
    this.onObstacle(this.#describeObstacles(), !this.#hasAnyKey);
  }

  get #hasAnyKey(): boolean {
    return !this.#files.keys.isEmpty || Array.from(this.#issuers.values()).some(({ keys }) => !keys.isEmpty);
  }

  #describeObstacles(): string {
    const { fault } = this.#files;
    const all = Array.from(this.#issuers.values());
    const missingCount = all.filter(({ areMissing }) => areMissing).length;
    const whose = all.length === 1 ? 'the keys of the issuer' : `the keys of ${missingCount} of ${all.length} issuers`;
    const ofIssuers = `${whose} in --token-jwks-url cannot be fetched (see the log); their tokens get 503`;
    const ofFiles = `a changed key file cannot be used, the previous keys stay in use: ${fault}`;
    return [...(missingCount === 0 ? [] : [ofIssuers]), ...(fault === '' ? [] : [ofFiles])].join('; ');
  }
}
