// Formulas that say whether an effect is there. «No» allows another call, so only an answer of the expected form may say it, and only one
// that shows all there is: a page that asks to sign in, an error with status 200, and one page of several say nothing.

/** One of the list is ours; `where` speaks of `one`. `more` is true where the answer may not be the whole list. */
export function foundIn(
  list: string,
  where: string,
  more: string,
  called = 'id',
): { found: string; id: string } {
  return {
    found: `type(${list}) != 'list' ? null : ${list}.exists(one, ${where}) ? true : (${more}) ? null : false`,
    id: `${list}.filter(one, ${where})[0].${called}`,
  }
}

/** The page is as long as was asked for: others may follow. */
export function isFull(list: string, pageSize: number): string {
  return `size(${list}) >= ${pageSize}`
}

/** Of APIs that name the next page in the header `Link`, and that were asked for pages of 100. */
export const MORE_BY_LINK = `coalesce(result.headers.link, '').contains('rel="next"') || ${isFull('result.body', 100)}`

/** What is asked for by its name: 404 says that it is not there. */
export function foundBy(value: string, test: string): string {
  return `result.status == 404 ? false : ${value} == null ? null : ${test}`
}
