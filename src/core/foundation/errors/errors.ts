// One table of every error that a caller may see. Codes are never reused; docs/errors.md lists the same rows.

export const ERROR_KINDS = [
  'invalid',
  'not_found',
  'conflict',
  'unauthorized',
  'limited',
  'unavailable',
  'timeout',
  'cancelled',
] as const
export type ErrorKind = (typeof ERROR_KINDS)[number]

interface ErrorRow {
  readonly kind: ErrorKind
  readonly status: number
  /** What went wrong, in one line; the details say where. */
  readonly title: string
  /** What to do next. */
  readonly next: string
}

export const ERRORS = {
  unknown_source: {
    kind: 'not_found',
    status: 404,
    title: 'No such source',
    next: 'Check the tenant and the source name in the address; `millrace definitions` lists the sources.',
  },
  source_disabled: {
    kind: 'not_found',
    status: 410,
    title: 'The source is disabled',
    next: 'Resume it with `millrace resume <source>` or in the console; if its definition says `status: disabled`, change that and apply it.',
  },
  address_refused: {
    kind: 'unauthorized',
    status: 403,
    title: 'The sender’s address is not allowed',
    next: 'Send from an address that the source’s `allow` names, or add yours; behind a proxy, set MILLRACE_TRUSTED_PROXIES.',
  },
  handshake_refused: {
    kind: 'unauthorized',
    status: 403,
    title: 'The handshake is not valid',
    next: 'Send the handshake that the source’s `handshake.when` describes; send events with POST.',
  },
  rate_limited: {
    kind: 'limited',
    status: 429,
    title: 'Source rate limit exceeded',
    next: 'Wait for as long as `retry-after` says and send again, or raise the source’s `rateLimit`.',
  },
  backlog_full: {
    kind: 'limited',
    status: 429,
    title: 'The tenant has too many open jobs',
    next: 'Wait for as long as `retry-after` says and send again; resume paused routes, decide on dead letters and parked jobs, or ask the operator to raise the limit. Accepted events are not affected.',
  },
  signature_missing: {
    kind: 'unauthorized',
    status: 401,
    title: 'The signature is missing',
    next: 'Sign the request as the source’s `verify` says, with the header that the detail names.',
  },
  signature_wrong: {
    kind: 'unauthorized',
    status: 401,
    title: 'The signature does not match',
    next: 'Sign the exact bytes of the body with the secret that the source refers to.',
  },
  signature_expired: {
    kind: 'unauthorized',
    status: 401,
    title: 'The signature’s time is out of tolerance',
    next: 'Check the sender’s clock and sign again; the source’s `tolerance` says how far it may differ.',
  },
  secret_missing: {
    kind: 'unavailable',
    status: 503,
    title: 'The source’s secret is not set',
    next: 'Set the environment variable or vault entry that the source’s `verify.secret` names, then send again.',
  },
  not_json: {
    kind: 'invalid',
    status: 400,
    title: 'The body is not JSON',
    next: 'Send one JSON value in UTF-8; the detail says where reading stopped.',
  },
  duplicate_key: {
    kind: 'invalid',
    status: 400,
    title: 'The body has a duplicate key',
    next: 'Write each key of an object once.',
  },
  number_out_of_range: {
    kind: 'invalid',
    status: 400,
    title: 'The body has a number that is too long',
    next: 'Send numbers of at most 1000 characters, whose first digit is at most 1000 places from the decimal point, or send the number as a string.',
  },
  body_unreadable: {
    kind: 'invalid',
    status: 400,
    title: 'The body cannot be read',
    next: 'Send forms and texts in UTF-8, complete compressed bodies, and forms with no more fields than the detail says.',
  },
  too_deep: {
    kind: 'invalid',
    status: 400,
    title: 'The body is nested too deeply',
    next: 'Flatten it, or raise the source’s `limits.depth`.',
  },
  unnamed_event: {
    kind: 'invalid',
    status: 400,
    title: 'The event’s subject cannot be computed',
    next: 'Send the fields or headers that the source’s `subject` uses, or change the template.',
  },
  event_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The CloudEvent is not valid',
    next: 'Fix the attributes that the detail names, and send it again; nothing was stored.',
  },
  body_too_large: {
    kind: 'limited',
    status: 413,
    title: 'The body is too large',
    next: 'Send a smaller body, or raise the source’s `limits.body`.',
  },
  headers_too_large: {
    kind: 'limited',
    status: 431,
    title: 'The headers are too large',
    next: 'Send fewer or shorter headers, cookies among them, or a shorter address.',
  },
  expectation_failed: {
    kind: 'invalid',
    status: 417,
    title: 'The expectation cannot be met',
    next: 'Send `expect: 100-continue`, or no `expect` header.',
  },
  request_timeout: {
    kind: 'timeout',
    status: 408,
    title: 'The request did not arrive in time',
    next: 'Send it again, without pauses.',
  },
  wrong_type: {
    kind: 'invalid',
    status: 415,
    title: 'The content type is not accepted',
    next: 'Send `content-type: application/json`, a form (application/x-www-form-urlencoded) or text; uncompressed, or with gzip, deflate or br.',
  },
  not_authenticated: {
    kind: 'unauthorized',
    status: 401,
    title: 'An API key is required',
    next: 'Send `authorization: Bearer <key>`, or sign in; the start-up message says where the admin key is.',
  },
  not_allowed: {
    kind: 'unauthorized',
    status: 403,
    title: 'The key’s role does not allow this',
    next: 'Use a key with the role that the detail names, or ask an admin for one.',
  },
  permission_needed: {
    kind: 'unauthorized',
    status: 403,
    title: 'The key lacks a permission',
    next: 'Use a key with the permission that the detail names; an admin creates one with `millrace keys create --permission <name>`.',
  },
  wrong_origin: {
    kind: 'unauthorized',
    status: 403,
    title: 'The request does not come from the console',
    next: 'Signed-in pages send `millrace-console: 1` from the console’s own address; programs send a key instead.',
  },
  limited: {
    kind: 'limited',
    status: 429,
    title: 'Too many requests',
    next: 'Wait for as long as `retry-after` says, then try again.',
  },
  secret_unreadable: {
    kind: 'unavailable',
    status: 503,
    title: 'A secret cannot be decrypted',
    next: 'Start the node with the master key that encrypted it (`MILLRACE_MASTER_KEYS_OLD`), or set the secret again.',
  },
  vault_sealed: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault is sealed',
    next: 'Unseal it (`vault operator unseal`), or initialize it if it is new; waiting jobs then continue automatically.',
  },
  vault_denied: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault refuses this node',
    next: 'Give the token or the role a policy for the path that the detail names, or set a valid MILLRACE_VAULT_TOKEN; docs/vaults.md has the policy.',
  },
  vault_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault does not respond',
    next: 'Check the vault and MILLRACE_VAULT_URL; waiting jobs then continue automatically.',
  },
  not_found: {
    kind: 'not_found',
    status: 404,
    title: 'Not found',
    next: 'Check the id or the address.',
  },
  method_not_allowed: {
    kind: 'invalid',
    status: 405,
    title: 'The method is not allowed here',
    next: 'Use one of the methods in the `allow` header.',
  },
  invalid_request: {
    kind: 'invalid',
    status: 400,
    title: 'The request is not valid',
    next: 'Fix the fields listed in the detail.',
  },
  invalid_cursor: {
    kind: 'invalid',
    status: 400,
    title: 'The cursor is not valid',
    next: 'Use `nextCursor` of the previous response, unchanged, or start without a cursor.',
  },
  conflict: {
    kind: 'conflict',
    status: 409,
    title: 'The state does not allow this',
    next: 'Read it again, because another user may have acted first, and decide again.',
  },
  tenant_limit: {
    kind: 'conflict',
    status: 409,
    title: 'Tenant limit reached',
    next: 'Remove entries that are no longer needed, or ask the operator to raise the setting that the detail names; nothing was changed.',
  },
  replays_exhausted: {
    kind: 'conflict',
    status: 409,
    title: 'Three replays have failed',
    next: 'Fix the cause first; then replay with `force: true`.',
  },
  reason_required: {
    kind: 'invalid',
    status: 400,
    title: 'A reason is required',
    next: 'Give a `reason`; it is recorded. In the environment PROD every replay needs one, and a repeated effect (`again`) always does.',
  },
  definition_missing: {
    kind: 'conflict',
    status: 409,
    title: 'The definition no longer exists',
    next: 'Apply a definition of that name, then replay.',
  },
  instance_ended: {
    kind: 'conflict',
    status: 409,
    title: 'The instance has ended',
    next: 'Read the instance to see how it ended; start another one to continue the case.',
  },
  unknown_transition: {
    kind: 'invalid',
    status: 400,
    title: 'The workflow has no such transition',
    next: 'Name a transition of the version that the instance is on; the detail suggests one.',
  },
  unknown_place: {
    kind: 'invalid',
    status: 400,
    title: 'The workflow has no such place',
    next: 'Name a place of the version that the instance is on; the detail suggests one.',
  },
  cannot_fire: {
    kind: 'conflict',
    status: 409,
    title: 'The transition cannot fire',
    next: 'Look at `details.rules`, or ask `GET /v1/instances/{id}/why`: each rule says whether it holds.',
  },
  shut_out: {
    kind: 'unauthorized',
    status: 403,
    title: 'A different user must do this',
    next: 'The transition’s `notBy` excludes you, for example because you made the request; ask another user to fire it.',
  },
  invalid_input: {
    kind: 'invalid',
    status: 422,
    title: 'The workflow’s input is not valid',
    next: 'Fix the fields listed in the detail; the schema is `input` of the transition or trigger.',
  },
  mapping_failed: {
    kind: 'invalid',
    status: 422,
    title: 'The data cannot be mapped',
    next: 'Fix the input, or the expression that the detail names; nothing was changed.',
  },
  firing_gone: {
    kind: 'conflict',
    status: 409,
    title: 'The firing no longer exists',
    next: 'Read the instance again: the firing ended, was interrupted, or has already continued.',
  },
  in_doubt: {
    kind: 'conflict',
    status: 409,
    title: 'The outcome of an effect is unknown',
    next: 'First record the outcome with `millrace work resolve`; the detail names the job.',
  },
  cannot_migrate: {
    kind: 'conflict',
    status: 409,
    title: 'The instance cannot be migrated to that version',
    next: 'Write a migration from its version with a place for each of its tokens, and apply it; or let the instance finish on its version.',
  },
  endless_loop: {
    kind: 'conflict',
    status: 409,
    title: 'The workflow would loop forever',
    next: 'Give the automatic transitions that the detail names a condition that ends the loop; nothing was changed.',
  },
  versions_unsupported: {
    kind: 'conflict',
    status: 409,
    title: 'Active instances use versions that would not be supported',
    next: 'Write a migration from them, list them in `compatibility.supported`, or let the instances end; nothing was applied.',
  },
  check_too_long: {
    kind: 'invalid',
    status: 422,
    title: 'The check took too long',
    next: 'Split the files, or shorten the definitions; nothing was applied. MILLRACE_CHECK_TIMEOUT limits the time of a check.',
  },
  definitions_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The definitions have errors',
    next: 'Fix the findings, each with its file, line and column; nothing was applied.',
  },
  managed_by_folder: {
    kind: 'conflict',
    status: 409,
    title: 'The definition belongs to the folder',
    next: 'Change its file in the folder of the node, which is read at the start and, in DEV, whenever it changes.',
  },
  unknown_subscription: {
    kind: 'not_found',
    status: 404,
    title: 'No such subscription',
    next: 'Check the name; `millrace subscriptions` lists them.',
  },
  subscription_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The subscription has errors',
    next: 'Fix the findings; nothing was changed.',
  },
  name_taken: {
    kind: 'conflict',
    status: 409,
    title: 'The name is taken',
    next: 'Choose another name, or change the existing subscription (`PATCH`).',
  },
  endpoint_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The endpoint’s address is not allowed',
    next: 'Use a public http or https address without credentials; to allow hosts of your own network, list them in MILLRACE_OUTBOUND_ALLOW.',
  },
  overlap_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The overlap is not valid',
    next: 'Set how long the old secret stays valid beside the new one, from `0s` to `7d`; the default is `24h`.',
  },
  signing_secret_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The secret cannot sign',
    next: 'Use `whsec_` with the base64 of 24 to 64 bytes (ed25519: `whsk_`), or leave it out to generate one.',
  },
  secret_in_environment: {
    kind: 'conflict',
    status: 409,
    title: 'The secret is not in the vault',
    next: 'Change the environment variable and restart the nodes, or write the new value into its file; or let the subscription use a secret of the vault, `{ ref: name }`, which can be rotated here.',
  },
  secret_shown: {
    kind: 'conflict',
    status: 409,
    title: 'The secret was already shown',
    next: 'Use the secret that was shown; if it is lost, rotate it: the response contains the new one.',
  },
  provider_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'No such provider',
    next: 'Use one that `millrace providers` lists, or define it first in a definition of the kind Provider.',
  },
  credential_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'No such credential',
    next: 'Use one that `millrace credentials` lists, or create it first; credentials of other tenants cannot be used.',
  },
  integration_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The provider, connection or credential is not valid',
    next: 'Fix the fields listed in `details`; they are those of the definition.',
  },
  credential_missing_value: {
    kind: 'conflict',
    status: 409,
    title: 'The secret of the credential has no value',
    next: 'Set it with `millrace secrets set NAME`, or authorize the credential with `millrace credentials authorize NAME`; then test the connection.',
  },
  credential_scope_missing: {
    kind: 'conflict',
    status: 409,
    title: 'The account lacks a permission at the vendor',
    next: 'Give the account the scopes that the operation names at the vendor; another secret would not help.',
  },
  credential_refused: {
    kind: 'conflict',
    status: 409,
    title: 'The vendor refused the credential',
    next: 'Check that its value belongs to the account; change it where it is stored, then replay the failed jobs.',
  },
  refresh_token_expired: {
    kind: 'conflict',
    status: 409,
    title: 'The user’s consent has expired',
    next: 'Authorize the credential again with `millrace credentials authorize NAME`, then replay the failed jobs.',
  },
  oauth_refused: {
    kind: 'conflict',
    status: 409,
    title: 'The vendor issued no token',
    next: 'Check that the client’s id, its secret, its scopes and the callback address match the vendor’s settings, then try again.',
  },
  oauth_state_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'This consent was not requested, was already used, or has expired',
    next: 'Start again with `millrace credentials authorize NAME`, and finish within ten minutes.',
  },
  oauth_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The vendor’s token endpoint does not respond',
    next: 'Try again later; calls that need the token wait and are retried automatically.',
  },
  rotation_cool_down: {
    kind: 'conflict',
    status: 409,
    title: 'A rotation was made or attempted recently',
    next: 'Check the account’s permissions at the vendor; rotate manually with `millrace credentials rotate NAME`, then replay the failed jobs.',
  },
  subscription_disabled: {
    kind: 'conflict',
    status: 409,
    title: 'The subscription is disabled',
    next: 'Enable it first; a test event is then sent before the waiting deliveries.',
  },
  nothing_to_recover: {
    kind: 'not_found',
    status: 404,
    title: 'There is nothing to recover',
    next: 'Use `dryRun` to see which events the subscription selects since that time; `what: all` covers failed deliveries and events that were never sent.',
  },
  demo_unavailable: {
    kind: 'conflict',
    status: 409,
    title: 'The demo is not deployed',
    next: 'Start a node in DEV without MILLRACE_FLOWS, in a folder without ./flows; use `millrace send` for your own sources.',
  },
  idempotency_mismatch: {
    kind: 'invalid',
    status: 422,
    title: 'The idempotency key belongs to another request',
    next: 'Send the same method, address and body as the first time, or another key.',
  },
  idempotency_running: {
    kind: 'conflict',
    status: 409,
    title: 'A request with this idempotency key is still running',
    next: 'Wait for as long as `retry-after` says and send the same request again: you then get its response.',
  },
  source_unusable: {
    kind: 'unavailable',
    status: 503,
    title: 'This node cannot use a definition of the tenant',
    next: 'Send again; a node of the version that applied the definition accepts it. Upgrade this node.',
  },
  role_missing: {
    kind: 'unavailable',
    status: 421,
    title: 'Role not enabled on this node',
    next: 'Send it to a node with the role that the detail names, or enable the role on this node: `millrace start --role`, MILLRACE_ROLES.',
  },
  node_paused: {
    kind: 'unavailable',
    status: 503,
    title: 'The node is paused',
    next: 'Senders should retry later. The operator follows the detail, and ends the pause with `millrace confirm-copy`; /readyz and the log show the same text.',
  },
  shutting_down: {
    kind: 'unavailable',
    status: 503,
    title: 'The node is shutting down',
    next: 'Send again; another node, or this one after its restart, accepts it.',
  },
  store_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The store did not respond',
    next: 'Send again; nothing was acknowledged. If it persists, check the disk or the database.',
  },
  overloaded: {
    kind: 'unavailable',
    status: 503,
    title: 'Too many events are arriving',
    next: 'Send again later; this event was not stored.',
  },
  internal: {
    kind: 'unavailable',
    status: 500,
    title: 'Internal error',
    next: 'Send again; if it persists, report it with the `instance` of this response.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>
  /** What to do next in this case, where the table's text does not fit. */
  readonly next: string
  constructor(
    code: ErrorCode,
    detail?: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>>; next?: string } = {},
  ) {
    super(detail ?? ERRORS[code].title, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
    this.next = options.next ?? ERRORS[code].next
  }

  get kind(): ErrorKind {
    return ERRORS[this.code].kind
  }

  get status(): number {
    return ERRORS[this.code].status
  }
}
