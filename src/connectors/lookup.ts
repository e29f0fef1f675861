// Formulas that say whether an effect exists. "No" allows another call, so only a response of the expected form may say
// it, and only one that shows the whole list: a sign-in page, an error with status 200, and one page of several prove
// nothing.

/** One of the list is ours; `where` tests `one`. `more` is true if the response may not be the whole list. */
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

/** The page is as long as requested: others may follow. */
export function isFull(list: string, pageSize: number): string {
  return `size(${list}) >= ${pageSize}`
}

/** For APIs that name the next page in the header `Link`, with pages of 100. */
export const MORE_BY_LINK = `coalesce(result.headers.link, '').contains('rel="next"') || ${isFull('result.body', 100)}`

/** For a look-up by name: 404 says that it does not exist. */
export function foundBy(value: string, test: string): string {
  return `result.status == 404 ? false : ${value} == null ? null : ${test}`
}
