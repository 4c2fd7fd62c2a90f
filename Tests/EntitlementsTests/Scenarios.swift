/// Realistic subscriptions with the rows they must give, as text. `ScenarioTests` checks them.
///
/// An event is a line `signed date  type/subtype  [environment original-id]  status`. The lines
/// under it are its transaction (`id product purchased>expires reason`, where P is a purchase and R
/// a renewal), its renewal info after `|`, and after `=` the row when the events so far have
/// arrived, at the newest signed date. A line `at` is the row as of a time, which must not depend
/// on the order of arrival. A date without a time means 10:00 UTC.
enum Scenarios {
  static let text = """
    scenario S01 Buy, early renewal, cancel, expire
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-31T20:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    25-02-10 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=0 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=0
    25-03-01T10:05 EXPIRED/VOLUNTARY status=2
      1001 basic.m 25-02-01>25-03-01 R
      | ars=0 arp=basic.m birp=false ei=1 rd=25-03-01
      = expired basic.m exp=25-03-01 ar=0
    at 25-02-01 = active basic.m exp=25-03-01 ar=1
    at 25-02-28 = active basic.m exp=25-03-01 ar=0
    at 25-03-01T09:59 = active basic.m exp=25-03-01 ar=0
    at 25-03-01 = expired basic.m exp=25-03-01 ar=0

    scenario S02 Cancel, then re-enable before expiry
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-10 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=0
    25-01-12 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    at 25-01-11 = active basic.m exp=25-02-01 ar=0
    at 25-01-31 = active basic.m exp=25-02-01 ar=1
    at 25-02-02 = expired basic.m exp=25-02-01 ar=1

    scenario S03 EXPIRED never delivered: expiry by clock only
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-10 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=0
    at 25-01-31T23:59 = active basic.m exp=25-02-01 ar=0
    at 25-02-01 = expired basic.m exp=25-02-01 ar=0
    at 25-06-01 = expired basic.m exp=25-02-01 ar=0

    scenario S04 Upgrade basic.m to pro.y
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-15 DID_CHANGE_RENEWAL_PREF/UPGRADE status=1
      1001 pro.y 25-01-15>26-01-15 P
      | ars=1 arp=pro.y rd=26-01-15
      = active pro.y exp=26-01-15 ar=1
    at 25-01-14 = active basic.m exp=25-02-01 ar=1
    at 25-01-15 = active pro.y exp=26-01-15 ar=1
    at 25-02-02 = active pro.y exp=26-01-15 ar=1
    at 26-01-15 = expired pro.y exp=26-01-15 ar=1

    scenario S06 Downgrade pro.m to basic.m at next renewal
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 pro.m 25-01-01>25-02-01 P
      | ars=1 arp=pro.m rd=25-02-01
      = active pro.m exp=25-02-01 ar=1
    25-01-10 DID_CHANGE_RENEWAL_PREF/DOWNGRADE status=1
      1000 pro.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active pro.m exp=25-02-01 ar=1 pend=basic.m
    25-02-01T09:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active pro.m exp=25-03-01 ar=1 pend=basic.m
    at 25-01-31 = active pro.m exp=25-02-01 ar=1 pend=basic.m
    at 25-02-01 = active basic.m exp=25-03-01 ar=1
    at 25-02-15 = active basic.m exp=25-03-01 ar=1

    scenario S07 Downgrade, then revert
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 pro.m 25-01-01>25-02-01 P
      | ars=1 arp=pro.m rd=25-02-01
      = active pro.m exp=25-02-01 ar=1
    25-01-10 DID_CHANGE_RENEWAL_PREF/DOWNGRADE status=1
      1000 pro.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active pro.m exp=25-02-01 ar=1 pend=basic.m
    25-01-12 DID_CHANGE_RENEWAL_PREF status=1
      1000 pro.m 25-01-01>25-02-01 P
      | ars=1 arp=pro.m rd=25-02-01
      = active pro.m exp=25-02-01 ar=1
    at 25-01-11 = active pro.m exp=25-02-01 ar=1 pend=basic.m
    at 25-01-13 = active pro.m exp=25-02-01 ar=1

    scenario S08 Crossgrades: same duration = UPGRADE subtype
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-08 DID_CHANGE_RENEWAL_PREF/UPGRADE status=1
      1001 other.m 25-01-08>25-02-08 P
      | ars=1 arp=other.m rd=25-02-08
      = active other.m exp=25-02-08 ar=1
    25-01-20 DID_CHANGE_RENEWAL_PREF/DOWNGRADE status=1
      1001 other.m 25-01-08>25-02-08 P
      | ars=1 arp=basic.y rd=25-02-08
      = active other.m exp=25-02-08 ar=1 pend=basic.y
    25-02-08T09:30 DID_RENEW status=1
      1002 basic.y 25-02-08>26-02-08 R
      | ars=1 arp=basic.y rd=26-02-08
      = active other.m exp=26-02-08 ar=1 pend=basic.y
    at 25-01-09 = active other.m exp=25-02-08 ar=1
    at 25-02-07 = active other.m exp=25-02-08 ar=1 pend=basic.y
    at 25-03-01 = active basic.y exp=26-02-08 ar=1

    scenario S09 Resubscribe, same product, after a gap
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:05 EXPIRED/VOLUNTARY status=2
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m birp=false ei=1 rd=25-02-01
      = expired basic.m exp=25-02-01 ar=0
    25-05-01 SUBSCRIBED/RESUBSCRIBE status=1
      1001 basic.m 25-05-01>25-06-01 P
      | ars=1 arp=basic.m rd=25-06-01
      = active basic.m exp=25-06-01 ar=1
    at 25-03-01 = expired basic.m exp=25-02-01 ar=0
    at 25-05-02 = active basic.m exp=25-06-01 ar=1

    scenario S11 Billing failure, 16-day grace, recovered inside grace
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW/GRACE_PERIOD status=4
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    25-02-05 DID_RENEW/BILLING_RECOVERY status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    at 25-02-01T10:05 = expired basic.m exp=25-02-01 ar=1
    at 25-02-03 = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-06 = active basic.m exp=25-03-01 ar=1
    at 25-02-20 = active basic.m exp=25-03-01 ar=1

    scenario S12 Grace runs out, retry recovers on day 30
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW/GRACE_PERIOD status=4
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    25-02-17T10:01 GRACE_PERIOD_EXPIRED status=3
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    25-03-03 DID_RENEW/BILLING_RECOVERY status=1
      1001 basic.m 25-03-03>25-04-03 R
      | ars=1 arp=basic.m rd=25-04-03
      = active basic.m exp=25-04-03 ar=1
    at 25-02-16 = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-17 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-03-02 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-03-04 = active basic.m exp=25-04-03 ar=1

    scenario S13 Billing failure, no grace configured, churns after 60 days
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW status=3
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true ei=2 rd=25-02-01
      = billing_retry basic.m exp=25-02-01 ar=1
    25-04-02T10:30 EXPIRED/BILLING_RETRY status=2
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m birp=false ei=2 rd=25-02-01
      = expired basic.m exp=25-02-01 ar=0
    at 25-01-31 = active basic.m exp=25-02-01 ar=1
    at 25-02-02 = billing_retry basic.m exp=25-02-01 ar=1
    at 25-04-03 = expired basic.m exp=25-02-01 ar=0

    scenario S14 GRACE_PERIOD_EXPIRED and EXPIRED both lost
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW/GRACE_PERIOD status=4
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-16 = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-17 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-04-01 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-04-03 = expired basic.m exp=25-02-01 ar=1 grace=25-02-17

    scenario S16 Failure notified BEFORE expiresDate
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-31T20:00 DID_FAIL_TO_RENEW status=3
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true ei=2 rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    at 25-02-01T09:59 = active basic.m exp=25-02-01 ar=1
    at 25-02-01 = billing_retry basic.m exp=25-02-01 ar=1

    scenario S17 Refund of the current period
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-09T12:00 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=0
    25-01-10T12:00 REFUND status=5
      1000 basic.m 25-01-01>25-02-01 P rev=25-01-10T11:58 revType=REFUND_FULL revPct=100000
      | ars=0 arp=basic.m rd=25-02-01
      = revoked basic.m exp=25-02-01 ar=0 rev=25-01-10T11:58
    at 25-01-10T11:59 = active basic.m exp=25-02-01 ar=0
    at 25-01-10T12:00 = revoked basic.m exp=25-02-01 ar=0 rev=25-01-10T11:58
    at 25-01-20 = revoked basic.m exp=25-02-01 ar=0 rev=25-01-10T11:58

    scenario S19 Refund, then refund reversed
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-10 REFUND status=5
      1000 basic.m 25-01-01>25-02-01 P rev=25-01-10
      | ars=0 arp=basic.m rd=25-02-01
      = revoked basic.m exp=25-02-01 ar=0 rev=25-01-10
    25-01-20 REFUND_REVERSED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=0
    at 25-01-15 = revoked basic.m exp=25-02-01 ar=0 rev=25-01-10
    at 25-01-21 = active basic.m exp=25-02-01 ar=0
    at 25-02-01 = expired basic.m exp=25-02-01 ar=0

    scenario S22 Prorated refund of a subscription still ends access
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-16 REFUND status=5
      1000 basic.m 25-01-01>25-02-01 P rev=25-01-16 revType=REFUND_PRORATED revPct=50000
      | ars=0 arp=basic.m rd=25-02-01
      = revoked basic.m exp=25-02-01 ar=0 rev=25-01-16
    at 25-01-17 = revoked basic.m exp=25-02-01 ar=0 rev=25-01-16

    scenario S23 Family: member has their own row; REVOKE touches only it
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-01T11:00 SUBSCRIBED/INITIAL_BUY [Prod 2000] status=1
      2000 basic.m 25-01-01>25-02-01 P own=FAMILY_SHARED
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-12 REVOKE [Prod 2000] status=5
      2000 basic.m 25-01-01>25-02-01 P own=FAMILY_SHARED rev=25-01-12 revType=FAMILY_REVOKE
      | ars=0 arp=basic.m rd=25-02-01
      = revoked basic.m exp=25-02-01 ar=0 rev=25-01-12
    at 25-01-11 [Prod 1000] = active basic.m exp=25-02-01 ar=1
    at 25-01-13 [Prod 1000] = active basic.m exp=25-02-01 ar=1
    at 25-01-11 [Prod 2000] = active basic.m exp=25-02-01 ar=1
    at 25-01-13 [Prod 2000] = revoked basic.m exp=25-02-01 ar=0 rev=25-01-12

    scenario S24 Price increase needing consent, not given
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-05 PRICE_INCREASE/PENDING status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m pis=0 rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:05 EXPIRED/PRICE_INCREASE status=2
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m birp=false ei=3 pis=0 rd=25-02-01
      = expired basic.m exp=25-02-01 ar=0
    at 25-01-06 = active basic.m exp=25-02-01 ar=1
    at 25-02-02 = expired basic.m exp=25-02-01 ar=0

    scenario S25 Price increase accepted
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-05 PRICE_INCREASE/PENDING status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m pis=0 rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-08 PRICE_INCREASE/ACCEPTED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m pis=1 rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T09:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    at 25-01-09 = active basic.m exp=25-02-01 ar=1
    at 25-02-15 = active basic.m exp=25-03-01 ar=1

    scenario S27 Renewal date extended by 10 days, old snapshot retried late
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-20 RENEWAL_EXTENDED status=1
      1000 basic.m 25-01-01>25-02-11 P
      | ars=1 arp=basic.m rd=25-02-11
      = active basic.m exp=25-02-11 ar=1
    at 25-02-05 = active basic.m exp=25-02-11 ar=1
    at 25-02-11 = expired basic.m exp=25-02-11 ar=1

    scenario S28 Product removed from sale
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:05 EXPIRED/PRODUCT_NOT_FOR_SALE status=2
      1000 basic.m 25-01-01>25-02-01 P
      | ars=0 arp=basic.m birp=false ei=4 rd=25-02-01
      = expired basic.m exp=25-02-01 ar=0
    at 25-02-02 = expired basic.m exp=25-02-01 ar=0

    scenario S29 Consumable x3, prorated refund 40 %
    25-01-01 ONE_TIME_CHARGE [Prod 3000]
      3000 coins.100 25-01-01>- P type=Consumable qty=3
      = active coins.100
    25-01-05 REFUND [Prod 3000]
      3000 coins.100 25-01-01>- P type=Consumable qty=3 rev=25-01-05 revPct=40000
      = revoked coins.100 rev=25-01-05
    at 25-01-02 = active coins.100
    at 25-01-06 = revoked coins.100 rev=25-01-05

    scenario S30 Non-consumable: bought, refunded, refund reversed
    25-01-01 ONE_TIME_CHARGE [Prod 4000]
      4000 lifetime 25-01-01>- P type=Non-Consumable
      = active lifetime
    25-02-01 REFUND [Prod 4000]
      4000 lifetime 25-01-01>- P type=Non-Consumable rev=25-02-01
      = revoked lifetime rev=25-02-01
    25-03-01 REFUND_REVERSED [Prod 4000]
      4000 lifetime 25-01-01>- P type=Non-Consumable
      = active lifetime
    at 30-01-01 = active lifetime

    scenario S32 Late DID_FAIL_TO_RENEW/GRACE after recovery
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-05 DID_RENEW/BILLING_RECOVERY status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW/GRACE_PERIOD status=4
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = active basic.m exp=25-03-01 ar=1
    at 25-02-06 = active basic.m exp=25-03-01 ar=1
    at 25-02-18 = active basic.m exp=25-03-01 ar=1

    scenario S33 Retry duplicates: same notificationUUID delivered 6 times
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-31T20:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    at 25-02-15 = active basic.m exp=25-03-01 ar=1

    scenario S35 Same otid in Sandbox and Production: two rows
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-01T10:01 SUBSCRIBED/INITIAL_BUY [Sand 1000] status=1
      1000 pro.y 25-01-01T10:01>25-01-01T11:01 P
      | ars=1 arp=pro.y rd=25-01-01T11:01
      = active pro.y exp=25-01-01T11:01 ar=1
    at 25-01-01T10:30 [Prod 1000] = active basic.m exp=25-02-01 ar=1
    at 25-01-02 [Prod 1000] = active basic.m exp=25-02-01 ar=1
    at 25-01-01T10:30 [Sand 1000] = active pro.y exp=25-01-01T11:01 ar=1
    at 25-01-02 [Sand 1000] = expired pro.y exp=25-01-01T11:01 ar=1

    scenario S36 Unknown type / subtype / status / enum values
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-05 LOYALTY_EVENT/SOMETHING status=9
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m ei=17 rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    at 25-01-06 = active basic.m exp=25-02-01 ar=1
    at 25-02-02 = expired basic.m exp=25-02-01 ar=1

    scenario S39 Backfill: history pages replayed after live traffic
    25-03-01T10:05 EXPIRED/VOLUNTARY status=2
      1001 basic.m 25-02-01>25-03-01 R
      | ars=0 arp=basic.m birp=false ei=1 rd=25-03-01
      = expired basic.m exp=25-03-01 ar=0
    25-02-10 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=0 arp=basic.m rd=25-03-01
      = expired basic.m exp=25-03-01 ar=0
    25-01-31T20:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = expired basic.m exp=25-03-01 ar=0
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = expired basic.m exp=25-03-01 ar=0
    at 25-02-15 = active basic.m exp=25-03-01 ar=0
    at 25-03-02 = expired basic.m exp=25-03-01 ar=0

    scenario S40 Extension whose transaction snapshot is NOT updated
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-20 RENEWAL_EXTENDED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-11
      = active basic.m exp=25-02-11 ar=1 gap
    at 25-02-05 = active basic.m exp=25-02-11 ar=1 gap
    at 25-02-11 = expired basic.m exp=25-02-11 ar=1 gap

    scenario S41 Migration to Advanced Commerce
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-15 MIGRATION [Prod 5000] status=1
      5000 ac.generic 25-01-15>25-02-01 P
      | ars=1 arp=ac.generic rd=25-02-01
      = active ac.generic exp=25-02-01 ar=1
    at 25-01-20 [Prod 1000] = active basic.m exp=25-02-01 ar=1
    at 25-01-20 [Prod 5000] = active ac.generic exp=25-02-01 ar=1

    scenario S43 Cancel < 24 h before the end, renewal already charged
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-31T12:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    25-01-31T13:00 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=0 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=0
    at 25-02-15 = active basic.m exp=25-03-01 ar=0
    at 25-03-01 = expired basic.m exp=25-03-01 ar=0

    scenario S45 Upgrade bought after the next period was already charged
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-31T20:00 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    25-01-31T22:00 DID_CHANGE_RENEWAL_PREF/UPGRADE status=1
      1002 pro.y 25-01-31T22:00>26-01-31T22:00 P
      | ars=1 arp=pro.y rd=26-01-31T22:00
      = active pro.y exp=26-01-31T22:00 ar=1
    at 25-01-31T21:00 = active basic.m exp=25-03-01 ar=1
    at 25-01-31T23:00 = active pro.y exp=26-01-31T22:00 ar=1
    at 25-02-05 = active pro.y exp=26-01-31T22:00 ar=1
    at 25-03-05 = active pro.y exp=26-01-31T22:00 ar=1

    scenario S47 Refund reversed
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-10 REFUND status=5
      1000 basic.m 25-01-01>25-02-01 P rev=25-01-10
      | ars=1 arp=basic.m rd=25-02-01
      = revoked basic.m exp=25-02-01 ar=1 rev=25-01-10
    25-01-15 REFUND_REVERSED status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-01-20 DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED status=1
      1000 basic.m 25-01-01>25-02-01 P rev=25-01-10
      | ars=0 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=0
    at 25-01-12 = revoked basic.m exp=25-02-01 ar=1 rev=25-01-10
    at 25-01-16 = active basic.m exp=25-02-01 ar=1
    at 25-01-21 = active basic.m exp=25-02-01 ar=0

    scenario S49 Non-consumable restored under a new transactionId, original refunded
    25-01-01 ONE_TIME_CHARGE [Prod 4000]
      4000 lifetime 25-01-01>- P type=Non-Consumable
      = active lifetime
    25-03-01 ONE_TIME_CHARGE [Prod 4000]
      4005 lifetime 25-03-01>- P type=Non-Consumable
      = active lifetime
    25-04-01 REFUND [Prod 4000]
      4000 lifetime 25-01-01>- P type=Non-Consumable rev=25-04-01
      = revoked lifetime rev=25-04-01
    at 25-03-02 = active lifetime
    at 25-04-02 = revoked lifetime rev=25-04-01

    scenario F01 Newer renewal info says something else than that of the status
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-01T10:10 DID_FAIL_TO_RENEW status=3
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true ei=2 rd=25-02-01
      = billing_retry basic.m exp=25-02-01 ar=1
    25-02-03 METADATA_UPDATE
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-02 = billing_retry basic.m exp=25-02-01 ar=1
    at 25-02-16 = grace_period basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-17 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17

    scenario F02 Newer renewal info says the same: the status still counts
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-02-01
      = active basic.m exp=25-02-01 ar=1
    25-02-05 GRACE_PERIOD_EXPIRED status=3
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    25-02-06 METADATA_UPDATE
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m birp=true gpe=25-02-17 ei=2 rd=25-02-01
      = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17
    at 25-02-16 = billing_retry basic.m exp=25-02-01 ar=1 grace=25-02-17

    scenario F03 A status without renewal info is older than the renewal info
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>25-02-01 P
      = active basic.m exp=25-02-01
    25-02-02 METADATA_UPDATE
      1000 basic.m 25-01-01>25-02-01 P
      | ars=1 arp=basic.m rd=25-03-01
      = expired basic.m exp=25-02-01 ar=1
    at 25-01-31 = active basic.m exp=25-02-01
    at 25-02-20 = expired basic.m exp=25-02-01 ar=1

    scenario F04 A subscription without an expiry covers nothing
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>- P
      | ars=1 arp=basic.m
      = expired basic.m exp=25-01-01 ar=1
    at 35-01-01 = expired basic.m exp=25-01-01 ar=1

    scenario F05 A subscription that expires in the year 2999 covers nothing
    25-01-01 SUBSCRIBED/INITIAL_BUY status=1
      1000 basic.m 25-01-01>999-01-01 P
      | ars=1 arp=basic.m
      = expired basic.m exp=25-01-01 ar=1
    25-02-01 DID_RENEW status=1
      1001 basic.m 25-02-01>25-03-01 R
      | ars=1 arp=basic.m rd=25-03-01
      = active basic.m exp=25-03-01 ar=1
    at 25-04-01 = expired basic.m exp=25-03-01 ar=1
    """
}
