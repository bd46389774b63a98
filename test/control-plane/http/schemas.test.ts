import t from 'tap';
import { schemas, shapeOf } from '../../../src/control-plane/http/schemas.js';
import { limits } from '../../../src/shared/limits.js';

t.test('the document tells the bounds that the registry and the compositions keep', async (t) => {
  t.match(schemas.ServerInput.properties, {
    name: { minLength: 1, maxLength: limits.serverNameCharsMax },
    url: { maxLength: limits.serverUrlCharsMax },
    description: { maxLength: limits.serverDescriptionCharsMax },
    tags: { maxItems: limits.serverTagsMax, items: { maxLength: limits.serverTagCharsMax } },
  });
  t.match(schemas.CompositionInput.properties, {
    name: { maxLength: limits.serverNameCharsMax },
    servers: { items: { properties: { prompts: { items: { pattern: '^[^*]+$' } } } } },
    subjects: { maxItems: limits.compositionSubjectsMax, items: { maxLength: limits.storeKeyBytesMax } },
  });
});

t.test('a shape has no bounds, and everything else', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string', pattern: '^a$', minLength: 1 },
      list: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 2, enum: ['a'] } },
    },
    required: ['pattern'],
  };
  t.same(shapeOf(schema), {
    type: 'object',
    properties: {
      pattern: { type: 'string' },
      list: { type: 'array', items: { type: 'string', enum: ['a'] } },
    },
    required: ['pattern'],
  });
});
