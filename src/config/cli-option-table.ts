// The options of the commands for people, which talk to a running control plane: declared as the other options are.
import type { OptionTable } from './option.js';
import * as values from './values.js';

export const requestOptionTable = {
  'control-plane-url': {
    placeholder: '<url>',
    meaning: 'where the control plane is',
    fallback: 'http://127.0.0.1:4444',
    parse: values.parseBaseUrl,
  },
  json: {
    placeholder: '[true|false]',
    meaning: "print the control plane's answer as JSON",
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

const descriptionOptions = {
  description: {
    placeholder: '<text>',
    meaning: 'what it is for',
    fallback: undefined,
    parse: values.parseText,
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

export const serversAddOptionTable = {
  ...descriptionOptions,
  tags: {
    placeholder: '<list>',
    meaning: 'comma-separated labels',
    fallback: undefined,
    parse: values.parseTexts,
  },
  ...requestOptionTable,
} as const satisfies OptionTable;

export const compositionsCreateOptionTable = {
  ...descriptionOptions,
  subjects: {
    placeholder: '<list>',
    meaning: 'comma-separated subjects of tokens: who may use it',
    fallback: undefined,
    fallbackText: "the token's own",
    parse: values.parseTexts,
  },
  ...requestOptionTable,
} as const satisfies OptionTable;
