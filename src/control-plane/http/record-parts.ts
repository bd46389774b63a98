// Schema parts that servers and compositions share: what people set on both.
import { limits } from '../../shared/limits.js';
import { anyObject, text } from './schema-parts.js';

export const name = { ...text, minLength: 1, maxLength: limits.serverNameCharsMax, pattern: '^[A-Za-z0-9_.\\- ]+$' };
export const description = { ...text, maxLength: limits.serverDescriptionCharsMax };

/** Its contents are checked by `curationFault`, whose messages say more. */
export const curation = {
  type: 'object',
  properties: { prefix: text, tools: anyObject, prompts: anyObject },
  additionalProperties: false,
};

export const team = {
  type: ['null', 'string'],
  description:
    'The team to which the record belongs: editors in that team and the owner may change it. If left out of a new record, the caller’s only team. Null for none.',
};
export const owner = {
  ...text,
  description: 'The subject that created the record. Present only with `--token-roles-claim`.',
};
