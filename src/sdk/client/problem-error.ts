// Errors between a client and a node: the node refused, or it could not be reached.

import type { Problem } from './api.generated.ts'

/** The node refused; `problem` says why and what to do. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly status: number
  readonly problem: Problem
  /** How long to wait before retrying, if the node said so. */
  readonly retryAfterMs: number | null
  constructor(problem: Problem, retryAfterMs: number | null = null) {
    super(problem.detail)
    this.status = problem.status
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }

  get code(): Problem['code'] {
    return this.problem.code
  }
}

/** The node did not respond, or something other than a node did. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

const PROBLEM_TYPE = 'application/problem+json'

/** The error that a response stands for. */
export async function readProblem(response: Response): Promise<ProblemError | ConnectionError> {
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith(PROBLEM_TYPE)) {
    const who = URL.canParse(response.url) ? new URL(response.url).origin : 'whoever answered'
    return new ConnectionError(
      `status ${response.status} without a problem document: is ${who} a Millrace node?`,
    )
  }
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ProblemError(
    (await response.json()) as Problem,
    Number.isFinite(seconds) ? seconds * 1_000 : null,
  )
}
