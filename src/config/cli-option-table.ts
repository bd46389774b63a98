// The options of the commands for people, declared as the other options are: of those that talk to a running control plane, and
// of those that look at user configs in the store.
import type { OptionTable } from './option.js';
import { authOptions } from './auth-options.js';
import { storeOptions } from './table/store-options.js';
import { limits } from '../shared/limits.js';
import * as values from './values.js';

const jsonOptions = {
  json: {
    placeholder: '[true|false]',
    meaning: 'print the answer as JSON',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

export const requestOptionTable = {
  'control-plane-url': {
    placeholder: '<url>',
    meaning: 'where the control plane is',
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
    meaning: 'how it is spoken to; `SSE` is the older transport, whose URL is that of its event stream',
    fallback: undefined,
    parse: values.oneOf('STREAMABLEHTTP', 'SSE'),
  },
} as const satisfies OptionTable;

const forceOptions = {
  force: {
    placeholder: '[true|false]',
    meaning: 'name tools all the same that their server does not have',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

const teamOptions = {
  team: {
    placeholder: '<team>',
    meaning: 'the team that it belongs to, whose editors may change it; empty: none',
    fallback: undefined,
    parse: values.parseAnyText,
  },
} as const satisfies OptionTable;

export const serversListOptionTable = {
  tags: {
    placeholder: '<list>',
    meaning: 'comma-separated tags: only servers that have any of them',
    fallback: undefined,
    parse: values.parseTexts,
  },
  status: {
    placeholder: '<status>',
    meaning: 'only servers that are active, or only those that are inactive',
    fallback: undefined,
    parse: values.oneOf('active', 'inactive'),
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversImportOptionTable = {
  'dry-run': {
    placeholder: '[true|false]',
    meaning: 'say what would be registered, and ask the control plane nothing',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  'secrets-in': {
    placeholder: '<place>',
    meaning: 'where the values of headers are to be: store, for `switchyard secrets`, or files',
    fallback: 'store',
    parse: values.oneOf('store', 'files'),
  },
  bridge: {
    placeholder: '<program>',
    meaning: 'what servers on standard input and output are run behind: supergateway or mcp-proxy',
    fallback: 'supergateway',
    parse: values.oneOf('supergateway', 'mcp-proxy'),
  },
  'bridge-port': {
    placeholder: '<port>',
    meaning: 'of the first of these; the others follow',
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
    meaning: 'comma-separated labels',
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
    meaning: "for the control plane's own probes, and not for who has the token",
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const serversUpdateOptionTable = {
  name: { placeholder: '<text>', meaning: 'its new name', fallback: undefined, parse: values.parseText },
  url: { placeholder: '<url>', meaning: 'where it is from now on', fallback: undefined, parse: values.parseText },
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
    meaning: 'what its tools/list shows: all tools, or two with which the others are found and called',
    fallback: undefined,
    parse: values.oneOf('all', 'search'),
  },
} as const satisfies OptionTable;

export const compositionsUpdateOptionTable = {
  name: { placeholder: '<text>', meaning: 'its new name', fallback: undefined, parse: values.parseText },
  tools: {
    placeholder: '<list>',
    meaning: 'comma-separated server:tool, in place of the tools that it has',
    fallback: undefined,
    parse: values.parseTexts,
  },
  subjects: {
    placeholder: '<list>',
    meaning: 'comma-separated subjects of tokens, in place of those that may use it',
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
    meaning: 'comma-separated subjects of tokens: who may use it',
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
    meaning: 'change it only if it has this digest, as `config get --json` tells it; none: only if there is none',
    fallback: undefined,
    parse: values.parseDigest,
  },
  ...configStoreOptionTable,
} as const satisfies OptionTable;

/** Of commands that ask a running dataplane. */
export const adminRequestOptionTable = {
  'admin-address': {
    placeholder: '<host:port>',
    meaning: 'the admin listener of the dataplane that is asked',
    fallback: '127.0.0.1:8002',
    parse: values.parseListenAddress,
  },
  ...jsonOptions,
} as const satisfies OptionTable;

export const topOptionTable = {
  interval: {
    placeholder: '<duration>',
    meaning: 'how long what is shown is measured, and how often it is shown anew on a terminal',
    fallback: '2s',
    // Figures are gathered once a second at most.
    parse: values.duration({ minMs: 2 * limits.metricGatheringAgeMsMax, maxMs: 3_600_000 }),
  },
  ...adminRequestOptionTable,
} as const satisfies OptionTable;

const whoseOptions = {
  subject: {
    placeholder: '<text>',
    meaning: "whose: the token's subject",
    fallback: undefined,
    parse: values.parseText,
  },
} as const satisfies OptionTable;

export const sessionsOptionTable = { ...whoseOptions, ...adminRequestOptionTable } as const satisfies OptionTable;

export const explainOptionTable = {
  ...whoseOptions,
  'virtual-host': {
    placeholder: '<id>',
    meaning: 'the virtual host that is explained',
    fallback: undefined,
    parse: values.parseText,
  },
  tool: {
    placeholder: '<name>',
    meaning: 'a tool as callers call it: why it is listed or not, and what a call would do',
    fallback: undefined,
    parse: values.parseText,
  },
  ...adminRequestOptionTable,
} as const satisfies OptionTable;
