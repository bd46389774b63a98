export type { ReadPage } from './answer-reader.js';
export { grantByAllowList } from './grant.js';
export { listsChangedBy } from './kept-lists.js';
export { type CatalogueIdentity, ListCache } from './list-cache.js';
export { ListMerger } from './list-merger.js';
export { ListPages, type ListPagesHandler } from './list-pages.js';
export type { ThreadFailure } from './list-pool.js';
export type { BackendPages } from './merge.js';
export type { MergedList } from './merged-list.js';
