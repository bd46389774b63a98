// What our hooks and routes add to fastify's own types.

declare module 'fastify' {
  interface FastifyRequest {
    /** The token's subject; `''` on routes that need none. */
    subject: string;
  }

  /** What a route says of itself. */
  interface FastifyContextConfig {
    /** Answered without a token. */
    readonly isOpen?: boolean;
    /** Answered at any rate. */
    readonly isUncounted?: boolean;
  }
}

export {};
