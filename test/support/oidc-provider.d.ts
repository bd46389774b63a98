// Types for the parts of oidc-provider that the tests use; the package has none.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface TokenContext {
    readonly oidc: { readonly client: object; readonly params: Readonly<Record<string, string | undefined>> };
    body: unknown;
  }

  interface ConsentGrant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
    destroy(): Promise<void>;
  }

  interface Interaction {
    readonly prompt: {
      readonly name: string;
      readonly details: {
        readonly missingOIDCScope?: readonly string[];
        readonly missingResourceScopes?: Readonly<Record<string, readonly string[]>>;
      };
    };
    readonly params: Readonly<Record<string, string>>;
    readonly session?: { readonly accountId: string };
    readonly grantId?: string;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly AccessToken: new (properties: object) => {
      resourceServer: object;
      readonly expiration: number;
      save(): Promise<string>;
    };
    readonly Grant: {
      new (properties: object): ConsentGrant;
      find(id: string): Promise<ConsentGrant | undefined>;
    };
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
      options: { readonly mergeWithLastSubmission: boolean },
    ): Promise<void>;
    readonly ResourceServer: new (identifier: string, data: object) => object;
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    registerGrantType(
      name: string,
      handler: (context: TokenContext) => Promise<void>,
      parameters: readonly string[],
      repeatable: readonly string[],
    ): void;
  }

  export const errors: { readonly InvalidGrant: new (description: string) => Error };
}
