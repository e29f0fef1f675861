import { connectorConformance } from '../connector.conformance.ts'
import { stripe } from './manifest.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const made = (id: string, object: string) => ({ answer: { status: 200, body: { id, object } }, ref: id })
const error = (fields: object) => ({ error: fields }) as never

connectorConformance(stripe, {
  config: (url) => ({ baseUrl: url, account: 'acct_1' }),
  effect: 'createRefund',
  refusal: { status: 401, body: { error: { type: 'invalid_request_error', message: 'Invalid API Key' } } },
  probe: { target: 'GET /v1/balance', answer: { status: 200, body: { object: 'balance' } } },
  operations: {
    getBalance: {
      target: 'GET /v1/balance',
      headers: { 'stripe-account': 'acct_1', authorization: 'Bearer planted-secret-0001' },
      answer: { status: 200, body: { object: 'balance' } },
      ref: 'balance',
    },
    createCustomer: {
      target: 'POST /v1/customers',
      headers: FORM,
      form: { email: 'ada@example.com', name: 'Ada', 'address[country]': 'DE', 'metadata[order]': '7' },
      ...made('cus_1', 'customer'),
      result: { id: 'cus_1', object: 'customer' },
    },
    updateCustomer: {
      target: 'POST /v1/customers/cus_123',
      form: { name: 'Ada L.' },
      ...made('cus_123', 'customer'),
    },
    getCustomer: { target: 'GET /v1/customers/cus_123', ...made('cus_123', 'customer') },
    createInvoiceItem: {
      target: 'POST /v1/invoiceitems',
      form: { customer: 'cus_123', amount: '4200', currency: 'eur', description: 'Hours in May' },
      ...made('ii_1', 'invoiceitem'),
    },
    createInvoice: {
      target: 'POST /v1/invoices',
      form: {
        customer: 'cus_123',
        collection_method: 'send_invoice',
        days_until_due: '14',
        pending_invoice_items_behavior: 'include',
      },
      ...made('in_1', 'invoice'),
    },
    finalizeInvoice: {
      input: { invoice: 'in_123', autoAdvance: false, expand: ['customer', 'charge'] },
      target: 'POST /v1/invoices/in_123/finalize',
      body: 'auto_advance=false&expand%5B%5D=customer&expand%5B%5D=charge',
      ...made('in_123', 'invoice'),
    },
    sendInvoice: { target: 'POST /v1/invoices/in_123/send', form: {}, ...made('in_123', 'invoice') },
    voidInvoice: { target: 'POST /v1/invoices/in_123/void', form: {}, ...made('in_123', 'invoice') },
    createPaymentIntent: {
      target: 'POST /v1/payment_intents',
      form: {
        amount: '4200',
        currency: 'eur',
        customer: 'cus_123',
        'automatic_payment_methods[enabled]': 'true',
      },
      ...made('pi_1', 'payment_intent'),
    },
    createRefund: {
      target: 'POST /v1/refunds',
      form: { payment_intent: 'pi_123', amount: '1000', reason: 'requested_by_customer' },
      ...made('re_1', 'refund'),
    },
    createSubscription: {
      target: 'POST /v1/subscriptions',
      form: { customer: 'cus_123', 'items[0][price]': 'price_123', 'items[0][quantity]': '2' },
      ...made('sub_1', 'subscription'),
    },
  },
  answers: [
    { status: 402, body: error({ type: 'card_error', code: 'card_declined' }), as: 'validation' },
    { status: 409, body: error({ code: 'idempotency_key_in_use' }), as: 'unknown' },
    { status: 429, body: error({ code: 'lock_timeout' }), as: 'transient' },
    { status: 429, body: error({ code: 'rate_limit' }), as: 'rate_limited' },
    { status: 403, body: error({ type: 'invalid_request_error' }), as: 'config' },
    { status: 404, body: error({ code: 'resource_missing' }), as: 'validation' },
    { status: 500, body: error({ type: 'api_error' }), as: 'unknown' },
    { operation: 'getBalance', status: 500, body: error({ type: 'api_error' }), as: 'transient' },
  ],
  inbound: {
    secret: 'whsec_test',
    headers: {},
    payload: { id: 'evt_1', type: 'invoice.paid', created: 1_700_000_000, data: { object: { id: 'in_1' } } },
    subject: 'stripe.events.invoice.paid',
  },
})
