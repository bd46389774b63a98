export { TokenMinter } from './token-minter.js';
export { type RefusalReason, type TokenFault, TokenVerifier, type Verified } from './token-verifier.js';
