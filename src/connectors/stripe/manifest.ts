// Stripe's API (v1): forms in, JSON out. Stripe remembers an idempotency key for a day at least, and repeats its first
// response, also if that was a 500: so a call with an unknown outcome is simply repeated.
//
// Keys are sent only as bearer tokens. As user name of `basic`, which Stripe accepts too, a key would be part of a
// document.

import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anyText, fields, flag, input, list, map, oneOf, output, text, whole } from '../schema.ts'

const KEY_TTL_MS = 24 * 3_600_000
const OBJECT = output({ id: text(), object: text() })
const MORE = { metadata: fields('At most 50 texts by name.'), expand: list(text()) }
const MORE_BODY = { metadata: '{{ input.metadata }}', 'expand[]': '{{ input.expand }}' }

function create(
  part: Omit<OperationManifest, 'method' | 'encoding' | 'idempotency' | 'keyTtlMs'>,
): OperationManifest {
  return {
    output: OBJECT,
    ...part,
    method: 'POST',
    encoding: 'form',
    idempotency: 'native',
    keyTtlMs: KEY_TTL_MS,
  }
}

function read(part: Omit<OperationManifest, 'method' | 'idempotency'>): OperationManifest {
  return { output: OBJECT, ...part, method: 'GET', idempotency: 'idempotent', buckets: ['default'] }
}

const CUSTOMER = {
  email: text(),
  name: text(),
  description: anyText(),
  phone: text(),
  address: map(
    {},
    { line1: text(), line2: text(), city: text(), state: text(), postal_code: text(), country: text() },
  ),
}
const CUSTOMER_BODY = {
  email: '{{ input.email }}',
  name: '{{ input.name }}',
  description: '{{ input.description }}',
  phone: '{{ input.phone }}',
  address: '{{ input.address }}',
  ...MORE_BODY,
}

const manifest: Manifest = {
  name: 'stripe',
  title: 'Stripe',
  description: 'Customers, invoices, payments and refunds of a Stripe account.',
  category: 'payments',
  auth: ['bearer'],
  baseUrl: "{{ coalesce(config.baseUrl, 'https://api.stripe.com') }}/v1",
  config: {
    type: 'object',
    properties: {
      account: text('Of Stripe Connect: the account on whose behalf calls are made.'),
      version: text('Of the API, as in 2025-03-31; left out: that of the account.'),
      baseUrl: text('Of a stand-in for tests.'),
    },
    additionalProperties: false,
    examples: [{}],
  },
  capabilities: ['customers', 'invoices', 'payments', 'refunds'],
  headers: { 'stripe-account': '{{ config.account }}', 'stripe-version': '{{ config.version }}' },
  // 100 a second in live mode, 25 in test mode: the smaller one is safe for both.
  buckets: { default: { perMinute: 1_500, burst: 25 } },
  probe: { method: 'GET', path: '/balance' },
  refine: [
    // Another call with the key is in progress: repeating shows its result.
    { when: "result.status == 409 && result.body.error.code == 'idempotency_key_in_use'", as: 'unknown' },
    { when: "result.status == 429 && result.body.error.code == 'lock_timeout'", as: 'transient' },
    // No new key helps if the key itself lacks the permission.
    { when: "result.status == 403 && result.body.error.type == 'invalid_request_error'", as: 'config' },
    // A missing object is a matter of the input, not of the address.
    { when: "result.status == 404 && result.body.error.code == 'resource_missing'", as: 'validation' },
  ],
  operations: {
    getBalance: read({
      description: 'What the account holds.',
      path: '/balance',
      input: input({}, {}, {}),
      output: output({ object: text() }),
      ref: 'result.body.object',
    }),
    createCustomer: create({
      description: 'Adds a customer.',
      path: '/customers',
      body: CUSTOMER_BODY,
      input: input(
        {},
        { ...CUSTOMER, ...MORE },
        { email: 'ada@example.com', name: 'Ada', metadata: { order: '7' }, address: { country: 'DE' } },
      ),
    }),
    updateCustomer: create({
      description: 'Changes a customer.',
      path: '/customers/{{ input.customer }}',
      body: CUSTOMER_BODY,
      input: input({ customer: text() }, { ...CUSTOMER, ...MORE }, { customer: 'cus_123', name: 'Ada L.' }),
    }),
    getCustomer: read({
      description: 'Reads a customer.',
      path: '/customers/{{ input.customer }}',
      input: input({ customer: text() }, {}, { customer: 'cus_123' }),
    }),
    createInvoiceItem: create({
      description: 'Adds a line to the next invoice of a customer, or to a draft.',
      path: '/invoiceitems',
      body: {
        customer: '{{ input.customer }}',
        invoice: '{{ input.invoice }}',
        amount: '{{ input.amount }}',
        currency: '{{ input.currency }}',
        quantity: '{{ input.quantity }}',
        pricing: "{{ input.price == null ? input.price : {'price': input.price} }}",
        description: '{{ input.description }}',
        ...MORE_BODY,
      },
      input: input(
        { customer: text() },
        {
          invoice: text(),
          amount: whole('In the smallest unit of the currency.'),
          currency: text('Three letters, lower case.'),
          quantity: whole(),
          price: text('Id of a price, in place of amount and currency.'),
          description: anyText(),
          ...MORE,
        },
        { customer: 'cus_123', amount: 4_200, currency: 'eur', description: 'Hours in May' },
      ),
    }),
    createInvoice: create({
      description: 'Makes a draft of an invoice.',
      path: '/invoices',
      body: {
        customer: '{{ input.customer }}',
        auto_advance: '{{ input.autoAdvance }}',
        collection_method: '{{ input.collectionMethod }}',
        days_until_due: '{{ input.daysUntilDue }}',
        description: '{{ input.description }}',
        pending_invoice_items_behavior: '{{ input.pendingItems }}',
        ...MORE_BODY,
      },
      input: input(
        { customer: text() },
        {
          autoAdvance: flag('Whether Stripe finalizes it by itself.'),
          collectionMethod: oneOf('charge_automatically', 'send_invoice'),
          daysUntilDue: whole(),
          description: anyText(),
          pendingItems: oneOf('include', 'exclude'),
          ...MORE,
        },
        { customer: 'cus_123', collectionMethod: 'send_invoice', daysUntilDue: 14, pendingItems: 'include' },
      ),
    }),
    finalizeInvoice: create({
      description: 'Makes an invoice of a draft.',
      path: '/invoices/{{ input.invoice }}/finalize',
      body: { auto_advance: '{{ input.autoAdvance }}', 'expand[]': '{{ input.expand }}' },
      input: input({ invoice: text() }, { autoAdvance: flag(), expand: list(text()) }, { invoice: 'in_123' }),
    }),
    sendInvoice: create({
      description: 'Sends an invoice to its customer.',
      path: '/invoices/{{ input.invoice }}/send',
      body: { 'expand[]': '{{ input.expand }}' },
      input: input({ invoice: text() }, { expand: list(text()) }, { invoice: 'in_123' }),
    }),
    voidInvoice: create({
      description: 'Voids an invoice that is open.',
      path: '/invoices/{{ input.invoice }}/void',
      body: { 'expand[]': '{{ input.expand }}' },
      input: input({ invoice: text() }, { expand: list(text()) }, { invoice: 'in_123' }),
    }),
    createPaymentIntent: create({
      description: 'Begins a payment.',
      path: '/payment_intents',
      body: {
        amount: '{{ input.amount }}',
        currency: '{{ input.currency }}',
        customer: '{{ input.customer }}',
        payment_method: '{{ input.paymentMethod }}',
        confirm: '{{ input.confirm }}',
        off_session: '{{ input.offSession }}',
        description: '{{ input.description }}',
        automatic_payment_methods: '{{ input.automaticPaymentMethods }}',
        ...MORE_BODY,
      },
      input: input(
        { amount: whole('In the smallest unit of the currency.'), currency: text() },
        {
          customer: text(),
          paymentMethod: text(),
          confirm: flag(),
          offSession: flag(),
          description: anyText(),
          automaticPaymentMethods: map({ enabled: flag() }, { allow_redirects: oneOf('always', 'never') }),
          ...MORE,
        },
        { amount: 4_200, currency: 'eur', customer: 'cus_123', automaticPaymentMethods: { enabled: true } },
      ),
    }),
    createRefund: create({
      description: 'Gives money back, of a charge or of a payment.',
      path: '/refunds',
      body: {
        charge: '{{ input.charge }}',
        payment_intent: '{{ input.paymentIntent }}',
        amount: '{{ input.amount }}',
        reason: '{{ input.reason }}',
        ...MORE_BODY,
      },
      input: {
        ...input(
          {},
          {
            charge: text(),
            paymentIntent: text(),
            amount: whole('Left out: all of it.'),
            reason: oneOf('duplicate', 'fraudulent', 'requested_by_customer'),
            ...MORE,
          },
          { paymentIntent: 'pi_123', amount: 1_000, reason: 'requested_by_customer' },
        ),
        oneOf: [{ required: ['charge'] }, { required: ['paymentIntent'] }],
      },
    }),
    createSubscription: create({
      description: 'Begins a subscription of a customer.',
      path: '/subscriptions',
      body: {
        customer: '{{ input.customer }}',
        items: '{{ input.items }}',
        trial_period_days: '{{ input.trialDays }}',
        ...MORE_BODY,
      },
      input: input(
        { customer: text(), items: list(map({ price: text() }, { quantity: whole() })) },
        { trialDays: whole(), ...MORE },
        { customer: 'cus_123', items: [{ price: 'price_123', quantity: 2 }] },
      ),
    }),
  },
  inbound: { scheme: 'stripe', subjects: 'stripe' },
}

export const stripe = makeProvider(manifest)
