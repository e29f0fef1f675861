// Networks that vendors publish as the origin of their webhooks. Vendors change these lists now and then: each has its date and
// the address of its source. A vendor whose list changes too often to be stored here is left out.

export interface VendorNetworks {
  /** Where the vendor publishes them. */
  readonly published: string
  /** When the list was last copied. */
  readonly asOf: string
  readonly networks: readonly string[]
}

export const VENDOR_NETWORKS: Readonly<Record<string, VendorNetworks>> = {
  github: {
    published: 'https://api.github.com/meta (hooks)',
    asOf: '2026-01-17',
    networks: [
      '192.30.252.0/22',
      '185.199.108.0/22',
      '140.82.112.0/20',
      '143.55.64.0/20',
      '2a0a:a440::/29',
      '2606:50c0::/32',
    ],
  },
  gitlab: {
    published: 'https://docs.gitlab.com/user/gitlab_com/ (GitLab.com only)',
    asOf: '2026-01-01',
    networks: ['34.74.90.64/28', '34.74.226.0/24'],
  },
  paddle: {
    published: 'https://api.paddle.com/ips and https://sandbox-api.paddle.com/ips',
    asOf: '2026-01-01',
    networks: [
      '34.195.105.136/32',
      '34.212.5.7/32',
      '34.232.58.13/32',
      '34.237.3.244/32',
      '35.155.119.135/32',
      '52.11.166.252/32',
      '3.208.120.145/32',
      '34.194.127.46/32',
      '44.226.236.210/32',
      '44.241.183.62/32',
      '54.234.237.108/32',
      '100.20.172.113/32',
    ],
  },
  stripe: {
    published: 'https://stripe.com/files/ips/ips_webhooks.txt',
    asOf: '2026-05-15',
    networks: [
      '3.18.12.63/32',
      '3.69.109.8/32',
      '3.120.168.93/32',
      '3.130.192.231/32',
      '13.235.14.237/32',
      '13.235.122.149/32',
      '18.211.135.69/32',
      '35.154.171.200/32',
      '35.157.207.129/32',
      '52.15.183.38/32',
      '54.88.130.119/32',
      '54.88.130.237/32',
      '54.187.174.169/32',
      '54.187.205.235/32',
      '54.187.216.72/32',
    ],
  },
}
