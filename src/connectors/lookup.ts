// Formulas that say whether an effect is there. «No» allows another call, so only an answer of the expected form may say it: a page that
// asks to sign in, or an error with status 200, says nothing.

/** One of the list is ours; `where` speaks of `one`. */
export function foundIn(list: string, where: string, called = 'id'): { found: string; id: string } {
  return {
    found: `type(${list}) == 'list' ? ${list}.exists(one, ${where}) : null`,
    id: `${list}.filter(one, ${where})[0].${called}`,
  }
}

/** What is asked for by its name: 404 says that it is not there. */
export function foundBy(value: string, test: string): string {
  return `result.status == 404 ? false : ${value} == null ? null : ${test}`
}
