// Shared by the option tests of both commands: the options that a command line and an environment yield, or their faults; and the defaults
// that both commands have.
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import { OptionFaults } from '../../src/config/values.js';
import type { Schema, ValuesOf } from '../../src/config/option.js';
import { readRequest } from '../../src/config/read-request.js';

const MIB = 1024 * 1024;

export interface OptionLoader<Options> {
  readonly load: (args: readonly string[], environment?: NodeJS.ProcessEnv) => Options;
  readonly faults: (args: readonly string[], environment?: NodeJS.ProcessEnv) => readonly string[];
}

export function optionLoader<Options extends Schema>(
  command: string,
  options: Options,
): OptionLoader<ValuesOf<Options>> {
  const load = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): ValuesOf<Options> => {
    const words = readCommandLine([command, ...args], commands, environment);
    if (words.command === 'answer') throw new Error(words.text);
    return readRequest({ options }, words);
  };
  const faults = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): readonly string[] => {
    return faultsOf(() => load(args, environment));
  };
  return { load, faults };
}

export function faultsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof OptionFaults) return error.faults;
    throw error;
  }
  return [];
}

/** Defaults of both commands for a process with this memory; only the mode of backend connections differs between them. */
export function commonDefaults(memoryBytes: number, mode: 'tls-only' | 'plain-text-or-tls') {
  const eighthBytes = Math.floor(memoryBytes / 8);
  const sessionBytesMax = Math.min(eighthBytes, 1024 * MIB);
  const bytesInFlightMax = Math.min(eighthBytes, 512 * MIB);
  const listBytesMax = Math.min(eighthBytes, 512 * MIB);
  return {
    store: { kind: 'embedded', path: 'data/store' },
    protectedResource: { publicUrl: undefined, authorizationServers: [] },
    token: {
      publicKey: undefined,
      secret: undefined,
      jwks: undefined,
      issuerKeys: [],
      issuerKeyGraceMs: 24 * 3_600_000,
      leewayMs: 30_000,
      isPlainTextAllowed: mode === 'plain-text-or-tls',
      keyPaths: { publicKey: undefined, secret: undefined, jwks: undefined },
      privateKey: undefined,
      issuers: ['mcpgateway'],
      audience: 'mcpgateway-api',
    },
    upstream: {
      mode,
      connectTimeoutMs: 5_000,
      initializeTimeoutMs: 10_000,
      initializePatienceMs: 2_000,
      listTimeoutMs: 30_000,
      listCacheMs: 0,
      callIdleTimeoutMs: 300_000,
      authorities: undefined,
      unknownMethods: 'relay',
      clientAnswerTimeoutMs: 600_000,
      secretsDirectory: undefined,
      secretKeys: [],
      connectUrl: undefined,
    },
    eras: { served: 'both', leaseIdleTimeoutMs: 300_000 },
    answers: {
      slowAnswerMs: 5_000,
      streamKeepAliveMs: 14_000,
      resumptionTimeMs: 300_000,
      resumptionBytesMax: 4 * 1024 * 1024,
    },
    connections: {
      connectionsMax: 1_024,
      connectionsPerSubjectMax: 256,
      names: {
        nameServers: undefined,
        allowedNetworks: undefined,
        lookUpsMax: 1_024,
        lookUpsPerSubjectMax: 64,
        proxy: undefined,
      },
    },
    shares: {
      sessionsMax: 200_000,
      subjectSessionsMax: 1_000,
      sessionBytesMax,
      subjectSessionBytesMax: Math.min(Math.ceil(sessionBytesMax / 4), 64 * MIB),
      requestsInFlightMax: 16_384,
      subjectRequestsInFlightMax: 2_048,
      bytesInFlightMax,
      subjectBytesInFlightMax: Math.ceil(bytesInFlightMax / 2),
      listBytesMax,
      subjectListBytesMax: Math.min(Math.ceil(listBytesMax / 2), 128 * MIB),
    },
    allowedOrigins: [],
    allowedHosts: [],
    bodyBytesMax: 4 * MIB,
    sessionIdleTimeoutMs: 3_600_000,
    isCheckOnly: false,
    logLevel: 'info',
    accessLog: false,
    drainTimeoutMs: 10_000,
  };
}
