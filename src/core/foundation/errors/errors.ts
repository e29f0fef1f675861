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
    next: 'Check the tenant and the source name in the address; sources are listed by their definitions.',
  },
  source_disabled: {
    kind: 'not_found',
    status: 410,
    title: 'The source is disabled',
    next: 'Resume it with `millrace resume <source>` or in the console; where its definition says `status: disabled`, change that and apply it.',
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
    title: 'The handshake was not understood',
    next: 'Ask as the source’s `handshake.when` says; events are sent with POST.',
  },
  rate_limited: {
    kind: 'limited',
    status: 429,
    title: 'The source gets more than it takes',
    next: 'Wait for as long as `retry-after` says and send again, or raise the source’s `rateLimit`.',
  },
  backlog_full: {
    kind: 'limited',
    status: 429,
    title: 'The tenant has too many open jobs',
    next: 'Wait for as long as `retry-after` says and send again; resume what is paused, decide on dead letters and parked jobs, or ask the operator to raise the limit. What was accepted before goes on.',
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
    next: 'Check the sender’s clock and sign anew; the source’s `tolerance` says how far it may differ.',
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
    title: 'The body has a key twice',
    next: 'Write each key of an object once: of two values nobody knows which one counts.',
  },
  number_out_of_range: {
    kind: 'invalid',
    status: 400,
    title: 'The body has a number that is too long',
    next: 'Send numbers of at most 1000 characters, whose first digit is at most 1000 places from the decimal point, or send it as a text.',
  },
  body_unreadable: {
    kind: 'invalid',
    status: 400,
    title: 'The body cannot be read',
    next: 'Send forms and texts in UTF-8, compressed bodies whole, and of forms no more fields than the detail says.',
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
    title: 'The event’s subject cannot be made',
    next: 'Send the fields or headers that the source’s `subject` uses, or change the template.',
  },
  event_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The CloudEvent cannot be taken',
    next: 'Mend the attributes that the detail names, and send it again; nothing was kept.',
  },
  body_too_large: {
    kind: 'limited',
    status: 413,
    title: 'The body is too large',
    next: 'Send less, or raise the source’s `limits.body`.',
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
    next: 'Send `content-type: application/json`, a form (application/x-www-form-urlencoded) or text; as it is, or with gzip, deflate or br.',
  },
  not_authenticated: {
    kind: 'unauthorized',
    status: 401,
    title: 'A key is needed',
    next: 'Send `authorization: Bearer <key>`, or sign in; the start-up message says where the admin key is.',
  },
  not_allowed: {
    kind: 'unauthorized',
    status: 403,
    title: 'The key’s role does not reach this far',
    next: 'Use a key of the role that the detail names, or ask an admin for one.',
  },
  permission_needed: {
    kind: 'unauthorized',
    status: 403,
    title: 'The key lacks a permission',
    next: 'Use a key that has the permission which the detail names; an admin makes one with `millrace keys create --permission <name>`.',
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
    title: 'A secret cannot be opened',
    next: 'Start the node with the master key that sealed it (`MILLRACE_MASTER_KEYS_OLD`), or set the secret again.',
  },
  vault_sealed: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault is sealed',
    next: 'Unseal it (`vault operator unseal`), or initialise it if it is new; what waits for its secrets goes on by itself.',
  },
  vault_denied: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault does not let this node in',
    next: 'Give the token or the role a policy for the path that the detail names, or a valid MILLRACE_VAULT_TOKEN; docs/vaults.md has the policy.',
  },
  vault_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The vault does not answer',
    next: 'Look at the vault and at MILLRACE_VAULT_URL; what waits for its secrets goes on by itself.',
  },
  not_found: {
    kind: 'not_found',
    status: 404,
    title: 'Nothing is there',
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
    next: 'Mend what the detail names.',
  },
  invalid_cursor: {
    kind: 'invalid',
    status: 400,
    title: 'The cursor is not valid',
    next: 'Use `nextCursor` of the answer before, unchanged, or begin without one.',
  },
  conflict: {
    kind: 'conflict',
    status: 409,
    title: 'Its state does not allow this',
    next: 'Read it again, since somebody else may have acted first, and decide anew.',
  },
  tenant_limit: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant has as much of this as it may have',
    next: 'Remove what is not needed any more, or ask the operator to raise the setting that the detail names; nothing was changed.',
  },
  replays_exhausted: {
    kind: 'conflict',
    status: 409,
    title: 'Three replays were in vain',
    next: 'Mend the cause first; then replay with `force: true`.',
  },
  reason_required: {
    kind: 'invalid',
    status: 400,
    title: 'A reason is needed',
    next: 'Say in `reason` why you do it; it is kept. In the environment PROD every replay needs one, and a deliberate second effect everywhere.',
  },
  definition_missing: {
    kind: 'conflict',
    status: 409,
    title: 'The definition is gone',
    next: 'Apply a definition of that name, then replay.',
  },
  instance_ended: {
    kind: 'conflict',
    status: 409,
    title: 'The instance has ended',
    next: 'Read it to see how; start another one if the case is to go on.',
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
    title: 'Somebody else has to do it',
    next: 'The transition’s `notBy` names you, for example because you asked for it; let another person fire it.',
  },
  invalid_input: {
    kind: 'invalid',
    status: 422,
    title: 'The input is not what the workflow takes',
    next: 'Mend what the detail names; the schema is `input` of the transition or trigger.',
  },
  mapping_failed: {
    kind: 'invalid',
    status: 422,
    title: 'The data cannot be mapped',
    next: 'Mend the input, or the expression that the detail names; nothing was changed.',
  },
  firing_gone: {
    kind: 'conflict',
    status: 409,
    title: 'The firing is not there any more',
    next: 'Read the instance again: it ended, was interrupted, or goes on already.',
  },
  in_doubt: {
    kind: 'conflict',
    status: 409,
    title: 'The outcome of an effect is not known',
    next: 'Say first what became of it, with `millrace work resolve`; the detail names the work item.',
  },
  cannot_migrate: {
    kind: 'conflict',
    status: 409,
    title: 'The instance cannot go to that version',
    next: 'Write a migration from its version with a place for each of its tokens, and apply it; or let it end where it is.',
  },
  endless_loop: {
    kind: 'conflict',
    status: 409,
    title: 'The workflow would go in circles',
    next: 'Give the automatic transitions that the detail names a condition that ends; nothing was changed.',
  },
  versions_unsupported: {
    kind: 'conflict',
    status: 409,
    title: 'Instances live on versions that would not be supported',
    next: 'Write a migration from them, list them in `compatibility.supported`, or let the instances end; nothing was applied.',
  },
  check_too_long: {
    kind: 'invalid',
    status: 422,
    title: 'The check took too long',
    next: 'Split the files, or make what they hold smaller; nothing was applied. MILLRACE_CHECK_TIMEOUT says how long a check may take.',
  },
  definitions_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The definitions have errors',
    next: 'Mend what the findings name, each with its file, line and column; nothing was applied.',
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
    next: 'Mend what the findings name; nothing was changed.',
  },
  name_taken: {
    kind: 'conflict',
    status: 409,
    title: 'The name is taken',
    next: 'Choose another name, or change the subscription that has it (`PATCH`).',
  },
  endpoint_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The endpoint’s address is not allowed',
    next: 'Give a public http or https address without credentials; to send into your own network, name its addresses or hosts in MILLRACE_OUTBOUND_ALLOW.',
  },
  overlap_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The overlap is not valid',
    next: 'Write how long the old secret signs beside the new one, from `0s` to `7d`; left out, it is `24h`.',
  },
  signing_secret_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'The secret cannot sign',
    next: 'Give `whsec_` with the base64 of 24 to 64 bytes (ed25519: `whsk_`), or leave it out and one is made.',
  },
  secret_in_environment: {
    kind: 'conflict',
    status: 409,
    title: 'The secret is not in the vault',
    next: 'Change the environment variable and start the nodes anew, or put the new value into its file; or let the subscription name a secret of the vault, `{ ref: name }`, which can be rotated here.',
  },
  secret_shown: {
    kind: 'conflict',
    status: 409,
    title: 'The secret was shown already',
    next: 'Use the one that was shown; if it is lost, rotate it: the new one is shown in that answer.',
  },
  provider_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'There is no such provider',
    next: 'Name one that `millrace providers` lists, or describe it first in a definition of the kind Provider.',
  },
  credential_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'There is no such credential',
    next: 'Name one that `millrace credentials` lists, or make it first: credentials of other tenants are not for this one.',
  },
  integration_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The provider, connection or credential is not valid',
    next: 'Mend what `details` names; the fields are those of the definition.',
  },
  credential_missing_value: {
    kind: 'conflict',
    status: 409,
    title: 'The secret of the credential has no value',
    next: 'Set it with `millrace secrets set NAME`, or allow the credential in with `millrace credentials authorize NAME`; then test the connection.',
  },
  credential_scope_missing: {
    kind: 'conflict',
    status: 409,
    title: 'The account may not do this',
    next: 'Give the account the scopes that the operation names at the vendor; another secret would not help.',
  },
  credential_refused: {
    kind: 'conflict',
    status: 409,
    title: 'The vendor refused the credential',
    next: 'Look whether its value is the account’s; change it where it is kept, then replay what failed.',
  },
  refresh_token_expired: {
    kind: 'conflict',
    status: 409,
    title: 'The vendor’s consent is over',
    next: 'Allow the credential in again with `millrace credentials authorize NAME`, then replay what failed.',
  },
  oauth_refused: {
    kind: 'conflict',
    status: 409,
    title: 'The vendor gave no token',
    next: 'Look whether the client’s id, its secret, its scopes and the callback address are as the vendor knows them, then try again.',
  },
  oauth_state_invalid: {
    kind: 'invalid',
    status: 400,
    title: 'This consent was not asked for, was used, or is too old',
    next: 'Begin again with `millrace credentials authorize NAME`, and end it within ten minutes.',
  },
  oauth_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The vendor’s token address does not answer',
    next: 'Try again a little later; calls that need the token wait and are tried again by themselves.',
  },
  rotation_cool_down: {
    kind: 'conflict',
    status: 409,
    title: 'A rotation was made or tried a short while ago',
    next: 'Look at what the account may do at the vendor; rotate by hand with `millrace credentials rotate NAME`, then replay what failed.',
  },
  subscription_disabled: {
    kind: 'conflict',
    status: 409,
    title: 'The subscription is disabled',
    next: 'Enable it first: a test event then goes ahead of what waits.',
  },
  nothing_to_recover: {
    kind: 'not_found',
    status: 404,
    title: 'There is nothing to recover',
    next: 'Look with `dryRun` at what the subscription wants since when; `what: all` takes both what failed and what was never sent.',
  },
  demo_unavailable: {
    kind: 'conflict',
    status: 409,
    title: 'The demo is not in force',
    next: 'Start a node in DEV without MILLRACE_FLOWS, in a folder without ./flows; to your own sources, send with `millrace send`.',
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
    next: 'Wait for as long as `retry-after` says and send the same again: you then get its answer.',
  },
  source_unusable: {
    kind: 'unavailable',
    status: 503,
    title: 'This node cannot use a definition of the tenant',
    next: 'Send again; a node of the version that applied the definition takes it. Upgrade this one.',
  },
  role_missing: {
    kind: 'unavailable',
    status: 421,
    title: 'This node does not do that',
    next: 'Send it to a node that has the role which the detail names, or give it to this one: `millrace start --role`, MILLRACE_ROLES.',
  },
  node_paused: {
    kind: 'unavailable',
    status: 503,
    title: 'The node is paused',
    next: 'Senders send again later. The operator follows what the detail says, and ends the pause with `millrace confirm-copy`: /readyz and the log say the same.',
  },
  shutting_down: {
    kind: 'unavailable',
    status: 503,
    title: 'The node is shutting down',
    next: 'Send again; another node, or this one after its restart, takes it.',
  },
  store_unavailable: {
    kind: 'unavailable',
    status: 503,
    title: 'The store did not answer',
    next: 'Send again; nothing was acknowledged. If it lasts, look at the disk or the database.',
  },
  overloaded: {
    kind: 'unavailable',
    status: 503,
    title: 'Too many events are on their way in',
    next: 'Send again a little later; nothing was kept of this one.',
  },
  internal: {
    kind: 'unavailable',
    status: 500,
    title: 'Something broke on our side',
    next: 'Send again; if it lasts, report it with the `instance` of this answer.',
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
