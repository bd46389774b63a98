// The optional bootstrap feature: two helper endpoints without authentication, to try the gateway before a control plane
// issues tokens and writes configs. The production build leaves this folder out, so nothing may import it statically.
import type { Endpoint } from '../shared/endpoint.js';
import type { BootstrapContext } from './bootstrap-context.js';
import { createTokenEndpoint } from './token-endpoint.js';
import { createUserConfigEndpoint } from './user-config-endpoint.js';

export function createEndpoints(context: BootstrapContext): readonly Endpoint[] {
  return [createTokenEndpoint(context), createUserConfigEndpoint(context)];
}
