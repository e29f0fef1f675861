// Stripe's subjects: its event types, by object.

import type { CatalogEntry } from '../catalog-entry.ts'
import { constant, object, text, whole, yes } from './schema-helpers.ts'

const TYPES: Readonly<Record<string, string>> = {
  account:
    'updated external_account.created external_account.deleted external_account.updated application.authorized application.deauthorized',
  application_fee: 'created refunded refund.updated',
  balance: 'available',
  'billing.alert': 'triggered',
  'billing_portal.session': 'created',
  capability: 'updated',
  cash_balance: 'funds_available',
  charge:
    'captured expired failed pending refunded succeeded updated dispute.closed dispute.created dispute.funds_reinstated dispute.funds_withdrawn dispute.updated refund.updated',
  'checkout.session': 'async_payment_failed async_payment_succeeded completed expired',
  coupon: 'created deleted updated',
  credit_note: 'created updated voided',
  customer:
    'created deleted updated discount.created discount.deleted discount.updated source.created source.deleted source.expiring source.updated subscription.created subscription.deleted subscription.paused subscription.pending_update_applied subscription.pending_update_expired subscription.resumed subscription.trial_will_end subscription.updated tax_id.created tax_id.deleted tax_id.updated',
  customer_cash_balance_transaction: 'created',
  file: 'created',
  'financial_connections.account': 'created deactivated disconnected reactivated refreshed_balance',
  'identity.verification_session': 'canceled created processing redacted requires_input verified',
  invoice:
    'created deleted finalization_failed finalized marked_uncollectible overdue overpaid paid payment_action_required payment_failed payment_succeeded sent upcoming updated voided will_be_due',
  invoice_payment: 'paid',
  invoiceitem: 'created deleted',
  issuing_authorization: 'created request updated',
  issuing_card: 'created updated',
  issuing_cardholder: 'created updated',
  issuing_dispute: 'closed created funds_reinstated submitted updated',
  issuing_transaction: 'created updated',
  mandate: 'updated',
  payment_intent:
    'amount_capturable_updated canceled created partially_funded payment_failed processing requires_action succeeded',
  payment_link: 'created updated',
  payment_method: 'attached automatically_updated detached updated',
  payout: 'canceled created failed paid reconciliation_completed updated',
  person: 'created deleted updated',
  plan: 'created deleted updated',
  price: 'created deleted updated',
  product: 'created deleted updated',
  promotion_code: 'created updated',
  quote: 'accepted canceled created finalized',
  'radar.early_fraud_warning': 'created updated',
  refund: 'created failed updated',
  'reporting.report_run': 'failed succeeded',
  review: 'closed opened',
  setup_intent: 'canceled created requires_action setup_failed succeeded',
  'sigma.scheduled_query_run': 'created',
  source:
    'canceled chargeable failed mandate_notification refund_attributes_required transaction.created transaction.updated',
  subscription_schedule: 'aborted canceled completed created expiring released updated',
  'tax.settings': 'updated',
  tax_rate: 'created updated',
  'terminal.reader': 'action_failed action_succeeded action_updated',
  'test_helpers.test_clock': 'advancing created deleted internal_failure ready',
  topup: 'canceled created failed reversed succeeded',
  transfer: 'created reversed updated',
}

const AT = 1_704_164_645

export function stripeEntries(): readonly CatalogEntry[] {
  return Object.entries(TYPES).flatMap(([of, ends]) =>
    ends.split(' ').map((end) => {
      const type = `${of}.${end}`
      // The object of `customer.subscription.created` is a subscription.
      const about = end.includes('.') ? end.slice(0, end.lastIndexOf('.')) : of
      return {
        subject: `stripe.events.${type}`,
        description: `Of ${about.replaceAll(/[._]/g, ' ')}: ${end.slice(end.lastIndexOf('.') + 1).replaceAll('_', ' ')}.`,
        schema: object(
          {
            id: text,
            object: constant('event'),
            type: constant(type),
            created: whole,
            data: object(
              { object: object({ object: text }, { id: text }) },
              { previous_attributes: { type: 'object' } },
            ),
          },
          { api_version: { type: ['string', 'null'] }, livemode: yes },
        ),
        example: {
          id: 'evt_1001',
          object: 'event',
          type,
          created: AT,
          livemode: false,
          data: { object: { id: `${about.replaceAll(/[._]/g, '')}_1001`, object: about } },
        },
      }
    }),
  )
}
