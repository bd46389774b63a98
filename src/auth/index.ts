export { TokenMinter } from './token-minter.js';
export { type RefusalReason, type TokenFault, TokenVerifier, type TokenOutcome } from './token-verifier.js';
