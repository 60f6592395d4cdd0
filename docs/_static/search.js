/* Sphinx finds only pages that have every word of a query. Where few pages do, those with most of the words follow,
   rare words counting more; and guides come before reference pages that merely mention a word. */
"use strict";

if (typeof Search !== "undefined") {
  const FEW_RESULTS = 3;
  const FILE = 5, SCORE = 4, KIND = 6; // places in a result
  const withAllWords = Search.performTermsSearch;

  Search.performTermsSearch = (words, excluded) => {
    const found = withAllWords(words, excluded);
    if (found.length >= FEW_RESULTS || words.size < 2) return found;
    const pages = new Map(found.map((result) => [result[FILE], null])); // these stay as they are
    const total = Search._index.filenames.length;
    for (const word of words) {
      const having = withAllWords(new Set([word]), excluded);
      const rarity = Math.log((1 + total) / (1 + having.length));
      for (const result of having) {
        const page = pages.get(result[FILE]);
        if (page === null) continue;
        if (page === undefined) pages.set(result[FILE], [...result.slice(0, SCORE), result[SCORE] * rarity, ...result.slice(FILE)]);
        else page[SCORE] += result[SCORE] * rarity;
      }
    }
    const most = [...pages.values()].filter((page) => page !== null);
    most.forEach((page) => (page[SCORE] /= 1000)); // after the pages that have all words
    return [...found, ...most];
  };

  Scorer.score = (result) =>
    result[KIND] === SearchResultKind.text && /^(api|gallery)\//.test(result[FILE]) ? result[SCORE] / 2 : result[SCORE];
}
