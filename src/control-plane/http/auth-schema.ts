// The schema of a server's `auth`: what the server requires before it answers, and where the secrets for it are.
import { exactly, text } from './schema-parts.js';

const secretReference = {
  oneOf: [
    exactly({
      file: { ...text, description: 'The name of a file in `--secrets-directory`; what is in it is the value.' },
    }),
    exactly({
      secret: { ...text, description: 'The name of a secret in the store, as `switchyard secrets` keeps them.' },
    }),
  ],
};

const resource = {
  type: ['string', 'boolean'],
  not: { const: true },
  description: 'The resource indicator (RFC 8707) to request. `false`: none, for authorization servers that refuse it.',
};

/** The `type` of an `auth` decides which of these shapes it must have: see `auth` below. */
const headersAuth = {
  properties: {
    type: text,
    headers: {
      type: 'object',
      additionalProperties: secretReference,
      description: 'Header name → where its value is.',
    },
  },
  required: ['headers'],
  additionalProperties: false,
};

const clientCredentialsAuth = {
  properties: {
    type: text,
    token_endpoint: { ...text, description: 'Of the authorization server.' },
    client_id: text,
    client_secret: secretReference,
    client_authentication: {
      ...text,
      enum: ['basic', 'post'],
      description: 'How the client shows its secret: `basic` unless said.',
    },
    scope: text,
    resource,
    audience: text,
  },
  required: ['token_endpoint', 'client_id', 'client_secret'],
  additionalProperties: false,
};

const userAuth = {
  properties: {
    type: text,
    issuer: { ...text, description: 'The authorization server. If left out, the one that the server names.' },
    client_id: {
      ...text,
      description: 'The gateway’s client id at `issuer`. If left out, the gateway registers itself.',
    },
    client_secret: secretReference,
    client_authentication: { ...text, enum: ['basic', 'post'] },
    scope: text,
    resource,
  },
  additionalProperties: false,
};

export const auth = {
  type: ['null', 'object'],
  required: ['type'],
  properties: { type: { type: 'string', enum: ['headers', 'oauth2-client-credentials', 'oauth2-user'] } },
  if: { properties: { type: { const: 'headers' } } },
  then: headersAuth,
  else: {
    if: { properties: { type: { const: 'oauth2-user' } } },
    then: userAuth,
    else: clientCredentialsAuth,
  },
  description:
    'The credentials that the server requires. Secrets are referred to by name, never given here. Null removes `auth`.',
};
