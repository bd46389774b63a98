import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { operations } from '../../../src/control-plane/http/operations.js';
import { schemas } from '../../../src/control-plane/http/schemas.js';
import { limits } from '../../../src/shared/limits.js';

t.test('the document tells the bounds that the registry and the compositions keep', async (t) => {
  t.match(schemas.ServerInput.properties, {
    name: { minLength: 1, maxLength: limits.serverNameCharsMax },
    url: { maxLength: limits.serverUrlCharsMax },
    description: { maxLength: limits.serverDescriptionCharsMax },
    tags: { maxItems: limits.serverTagsMax, items: { maxLength: limits.serverNameCharsMax } },
  });
  t.match(schemas.CompositionInput.properties, {
    name: { maxLength: limits.serverNameCharsMax },
    servers: { items: { properties: { prompts: { items: { pattern: '^[^*]+$' } } } } },
    subjects: { maxItems: limits.compositionSubjectsMax, items: { maxLength: limits.storeKeyBytesMax } },
  });
});

t.test('the document tells which credentials a server may have, and that no secret is given with them', async (t) => {
  const { auth } = schemas.ServerInput.properties;
  t.match(auth, { type: ['null', 'object'], required: ['type'], description: /never given here/ });
  t.same(auth.properties.type.enum, ['headers', 'oauth2-client-credentials', 'oauth2-user']);
  t.match(auth.if, { properties: { type: { const: 'headers' } } });
  t.same(auth.then.required, ['headers']);
  t.match(auth.else.if, { properties: { type: { const: 'oauth2-user' } } });
  t.match(auth.else.then.properties, { issuer: Object });
  t.match(auth.else.else.required, ['token_endpoint', 'client_id', 'client_secret']);
  t.same(schemas.RefreshReport.properties.durationMs, { type: 'number', minimum: 0 });
});

t.test('the schemas of requests are valid, as nothing checks them when the program runs', async (t) => {
  const ajv = new Ajv2020();
  for (const { id, body, query } of operations) {
    if (query !== undefined) t.ok(ajv.validateSchema({ type: 'object', properties: query }), `query of ${id}`);
    if (body !== undefined) t.ok(ajv.validateSchema(schemas[body]), `body of ${id}`);
  }
});
