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
    'The team that it belongs to: its editors may change it, and so may its owner. Left out of a new one: the only team of the caller. Null: none.',
};
export const owner = { ...text, description: 'The subject that made it. There where roles are taken from tokens.' };
