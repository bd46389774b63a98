// The options of interactive commands: of those that talk to a running control plane or dataplane, and of those that work on user configs
// in the store.
import type { OptionTable } from './option.js';
import { authOptions } from './auth-options.js';
import { storeOptions } from './table/store-options.js';
import { limits } from '../shared/limits.js';
import * as values from './values.js';

const jsonOptions = {
  json: {
    placeholder: '[true|false]',
    meaning: 'print JSON',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

export const requestOptionTable = {
  'control-plane-url': {
    placeholder: '<url>',
    meaning: 'URL of the control plane',
    fallback: 'http://127.0.0.1:4444',
    parse: values.parseBaseUrl,
  },
  ...jsonOptions,
} as const satisfies OptionTable;

const descriptionOptions = {
  description: {
    placeholder: '<text>',
    meaning: 'what it is for',
    fallback: undefined,
    parse: values.parseText,
  },
} as const satisfies OptionTable;

const transportOptions = {
  transport: {
    placeholder: '<transport>',
    meaning: 'MCP transport; SSE is the older one, whose URL is that of its event stream',
    fallback: undefined,
    parse: values.oneOf('STREAMABLEHTTP', 'SSE'),
  },
} as const satisfies OptionTable;

const forceOptions = {
  force: {
    placeholder: '[true|false]',
    meaning: 'allow tools that their server does not have',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

const teamOptions = {
  team: {
    placeholder: '<team>',
    meaning: 'team that it belongs to, whose editors may change it; empty for none',
    fallback: undefined,
    parse: values.parseAnyText,
  },
} as const satisfies OptionTable;

export const serversListOptionTable = {
  tags: {
    placeholder: '<list>',
    meaning: 'comma-separated tags: only servers that have at least one of them',
    fallback: undefined,
    parse: values.parseTexts,
  },
  status: {
    placeholder: '<status>',
    meaning: 'only servers with this status: active or inactive',
    fallback: undefined,
    parse: values.oneOf('active', 'inactive'),
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversImportOptionTable = {
  'dry-run': {
    placeholder: '[true|false]',
    meaning: 'show what would be registered, without contacting the control plane',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  'secrets-in': {
    placeholder: '<place>',
    meaning: 'where header values are to be kept: store (set with `switchyard secrets`) or files',
    fallback: 'store',
    parse: values.oneOf('store', 'files'),
  },
  bridge: {
    placeholder: '<program>',
    meaning: 'bridge to run stdio servers behind: supergateway or mcp-proxy',
    fallback: 'supergateway',
    parse: values.oneOf('supergateway', 'mcp-proxy'),
  },
  'bridge-port': {
    placeholder: '<port>',
    meaning: 'port of the first bridged server; the next ones count up',
    fallback: '8100',
    parse: values.wholeNumber({ min: 1, max: values.PORT_MAX }),
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversAddOptionTable = {
  ...descriptionOptions,
  ...transportOptions,
  tags: {
    placeholder: '<list>',
    meaning: 'comma-separated tags',
    fallback: undefined,
    parse: values.parseTexts,
  },
  ...teamOptions,
  ...authOptions,
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversConnectOptionTable = {
  probes: {
    placeholder: '[true|false]',
    meaning: "for the control plane's own probes instead of for the token's subject",
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversUpdateOptionTable = {
  name: { placeholder: '<text>', meaning: 'its new name', fallback: undefined, parse: values.parseText },
  url: { placeholder: '<url>', meaning: 'its new URL', fallback: undefined, parse: values.parseText },
  enabled: {
    placeholder: '<true|false>',
    meaning: 'whether callers may use it',
    fallback: undefined,
    parse: values.parseSwitch,
  },
  ...serversAddOptionTable,
} as const satisfies OptionTable;

const exposureOptions = {
  exposure: {
    placeholder: '<all|search>',
    meaning: 'what its tools/list shows: all tools, or two tools to search for and call the others',
    fallback: undefined,
    parse: values.oneOf('all', 'search'),
  },
} as const satisfies OptionTable;

export const compositionsUpdateOptionTable = {
  name: { placeholder: '<text>', meaning: 'its new name', fallback: undefined, parse: values.parseText },
  tools: {
    placeholder: '<list>',
    meaning: 'comma-separated server:tool pairs; replaces the tools it has',
    fallback: undefined,
    parse: values.parseTexts,
  },
  subjects: {
    placeholder: '<list>',
    meaning: 'comma-separated token subjects that may use it; replaces those it has',
    fallback: undefined,
    parse: values.parseTexts,
  },
  ...descriptionOptions,
  ...exposureOptions,
  ...teamOptions,
  ...forceOptions,
  ...requestOptionTable,
} as const satisfies OptionTable;

export const compositionsCreateOptionTable = {
  ...descriptionOptions,
  ...exposureOptions,
  ...teamOptions,
  ...forceOptions,
  subjects: {
    placeholder: '<list>',
    meaning: 'comma-separated token subjects that may use it',
    fallback: undefined,
    fallbackText: "the token's own",
    parse: values.parseTexts,
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const configCheckOptionTable = jsonOptions;

export const configStoreOptionTable = { ...jsonOptions, ...storeOptions } as const satisfies OptionTable;

export const storeCopyOptionTable = {
  ...jsonOptions,
  'store-path': storeOptions['store-path'],
} as const satisfies OptionTable;

export const configChangeOptionTable = {
  'expected-digest': {
    placeholder: '<digest>',
    meaning: 'change it only if it has this digest (see `config get --json`); none: only if it does not exist',
    fallback: undefined,
    parse: values.parseDigest,
  },
  ...configStoreOptionTable,
} as const satisfies OptionTable;

/** For commands that query a running dataplane. */
export const adminRequestOptionTable = {
  'admin-address': {
    placeholder: '<host:port>',
    meaning: 'admin listener of the dataplane to query',
    fallback: '127.0.0.1:8002',
    parse: values.parseListenAddress,
  },
  ...jsonOptions,
} as const satisfies OptionTable;

export const topOptionTable = {
  interval: {
    placeholder: '<duration>',
    meaning: 'time between two measurements, and refresh interval on a terminal',
    fallback: '2s',
    // At least two gatherings apart: figures are gathered at most once per `metricGatheringAgeMsMax`.
    parse: values.duration({ minMs: 2 * limits.metricGatheringAgeMsMax, maxMs: 3_600_000 }),
  },
  ...adminRequestOptionTable,
} as const satisfies OptionTable;

const whoseOptions = {
  subject: {
    placeholder: '<text>',
    meaning: "the token's subject (sub)",
    fallback: undefined,
    parse: values.parseText,
  },
} as const satisfies OptionTable;

export const sessionsOptionTable = { ...whoseOptions, ...adminRequestOptionTable } as const satisfies OptionTable;

export const explainOptionTable = {
  ...whoseOptions,
  'virtual-host': {
    placeholder: '<id>',
    meaning: 'virtual host to explain',
    fallback: undefined,
    parse: values.parseText,
  },
  tool: {
    placeholder: '<name>',
    meaning: 'tool, by the name that clients see: why it is listed or not, and what a call would do',
    fallback: undefined,
    parse: values.parseText,
  },
  ...adminRequestOptionTable,
} as const satisfies OptionTable;
