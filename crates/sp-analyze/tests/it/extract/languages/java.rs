//! Java.

use super::*;

const JAVA: &str = r#"
== pom.xml
<project><artifactId>bank</artifactId></project>
== src/main/java/com/acme/bank/Account.java
package com.acme.bank;

import static com.acme.bank.Money.cents;

import com.acme.util.Checks;
import java.util.List;

/**
 * An account.
 *
 * @author somebody
 */
@Entity
public class Account<T extends Comparable<T>> implements Owner {
    private final long balance;

    public Account(long balance) {
        this.balance = cents(balance);
    }

    /** Takes money out. */
    public synchronized long withdraw(long amount) throws BankException {
        Checks.positive(amount);
        check(amount);
        return new Entry(amount).value();
    }

    @Override
    public String owner() {
        return "nobody";
    }

    private void check(long amount) {
    }

    long unseen() {
        return 1;
    }

    /** A line of the account. */
    public static class Entry {
        private final long value;

        public Entry(long value) {
            this.value = value;
        }

        public long value() {
            return value;
        }
    }
}
== src/main/java/com/acme/bank/Owner.java
package com.acme.bank;

/** Who has something. */
public interface Owner {
    String owner();

    enum Kind { PERSON, FIRM }
}
== src/main/java/com/acme/bank/Money.java
package com.acme.bank;

public final class Money {
    public static long cents(long amount) {
        return amount * 100;
    }
}
== src/main/java/com/acme/util/Checks.java
package com.acme.util;

public record Checks(int count) {
    public static void positive(long value) {
    }
}
== src/test/java/com/acme/bank/AccountTest.java
package com.acme.bank;

import org.junit.jupiter.api.Test;

class AccountTest {
    @Test
    void withdraws() {
        Account account = new Account(1);
        account.withdraw(1);
    }

    @Test
    void testsNothing() {
    }
}
"#;

#[test]
fn pk_21_java_symbols_are_public_or_documented() {
    assert_snapshot!(code(&graph(&files(JAVA))), @"
    file src/main/java/com/acme/bank/Account.java 1-52: `src/main/java/com/acme/bank/Account.java` (Java, 52 lines)⏎Defines Account.
    class Account.java#Account 13-52: `@Entity public class Account<T extends Comparable<T>> implements Owner`⏎An account.
    method Account.java#Account.Account 17-19: `Account.Account`: `public Account(long balance)`
    method Account.java#Account.withdraw 22-26: `Account.withdraw`: `public synchronized long withdraw(long amount) throws BankException`⏎Takes money out.
    class Account.java#Account.Entry 41-51: `Account.Entry`: `public static class Entry`⏎A line of the account.
    method Account.java#Entry.Entry 44-46: `Entry.Entry`: `public Entry(long value)`
    method Account.java#Entry.value 48-50: `Entry.value`: `public long value()`
    file src/main/java/com/acme/bank/Money.java 1-7: `src/main/java/com/acme/bank/Money.java` (Java, 7 lines)⏎Defines Money.
    class Money.java#Money 3-7: `public final class Money`
    method Money.java#Money.cents 4-6: `Money.cents`: `public static long cents(long amount)`
    file src/main/java/com/acme/bank/Owner.java 1-8: `src/main/java/com/acme/bank/Owner.java` (Java, 8 lines)⏎Defines Owner.
    interface Owner.java#Owner 4-8: `public interface Owner`⏎Who has something.
    method Owner.java#Owner.owner 5-5: `Owner.owner`: `String owner()`
    enum Owner.java#Owner.Kind 7-7: `Owner.Kind`: `enum Kind`⏎Variants: PERSON, FIRM.
    file src/main/java/com/acme/util/Checks.java 1-6: `src/main/java/com/acme/util/Checks.java` (Java, 6 lines)⏎Defines Checks.
    record Checks.java#Checks 3-6: `public record Checks(int count)`
    method Checks.java#Checks.positive 4-5: `Checks.positive`: `public static void positive(long value)`
    file src/test/java/com/acme/bank/AccountTest.java 1-15: `src/test/java/com/acme/bank/AccountTest.java` (Java, 15 lines)⏎Tests withdraws, testsNothing.
    test AccountTest.java#AccountTest.withdraws 6-10: test `withdraws`
    ");
}

#[test]
fn pk_21_java_edges_follow_packages_static_imports_and_inner_classes() {
    assert_snapshot!(edges(&graph(&files(JAVA))), @"
    Account.java#Account -contains-> Account.java#Account.Account
    Account.java#Account -contains-> Account.java#Account.Entry
    Account.java#Account -contains-> Account.java#Account.withdraw
    Account.java#Account.Account -calls-> Money.java#Money.cents
    Account.java#Account.Account -tested_by-> AccountTest.java#AccountTest.withdraws
    Account.java#Account.Entry -contains-> Account.java#Entry.Entry
    Account.java#Account.Entry -contains-> Account.java#Entry.value
    Account.java#Account.withdraw -calls-> Account.java#Entry.Entry
    Account.java#Account.withdraw -calls-> Account.java#Entry.value
    Account.java#Account.withdraw -calls-> Checks.java#Checks.positive
    Account.java#Account.withdraw -tested_by-> AccountTest.java#AccountTest.withdraws
    Checks.java#Checks -contains-> Checks.java#Checks.positive
    Money.java#Money -contains-> Money.java#Money.cents
    Owner.java#Owner -contains-> Owner.java#Owner.Kind
    Owner.java#Owner -contains-> Owner.java#Owner.owner
    src/main/java/com/acme/bank/Account.java -contains-> Account.java#Account
    src/main/java/com/acme/bank/Account.java -imports-> src/main/java/com/acme/bank/Money.java
    src/main/java/com/acme/bank/Account.java -imports-> src/main/java/com/acme/util/Checks.java
    src/main/java/com/acme/bank/Money.java -contains-> Money.java#Money
    src/main/java/com/acme/bank/Owner.java -contains-> Owner.java#Owner
    src/main/java/com/acme/util/Checks.java -contains-> Checks.java#Checks
    ");
}
