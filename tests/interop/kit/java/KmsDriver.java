// Drives the Java KMS client from outside: one JSON object a line in, one a line out, in step.
//
//   {"do":"open","provider":"kms://http@127.0.0.1:9600/kms","user":"alice"}    -> {"ok":1}       the number of the client
//   {"do":"getMetadata","on":1,"name":"k"}                                     -> {"ok":{...}}
//   anything that throws                                                       -> {"raised":"class","message":"text","causes":["class: text"]}
//
// Bytes travel as standard base64. The calls are the public ones of KeyProvider and its two extensions, so each goes
// through LoadBalancingKMSClientProvider and KMSClientProvider as in HDFS.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.UndeclaredThrowableException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.key.KeyProvider;
import org.apache.hadoop.crypto.key.KeyProvider.KeyVersion;
import org.apache.hadoop.crypto.key.KeyProvider.Metadata;
import org.apache.hadoop.crypto.key.KeyProviderCryptoExtension;
import org.apache.hadoop.crypto.key.KeyProviderCryptoExtension.EncryptedKeyVersion;
import org.apache.hadoop.crypto.key.KeyProviderDelegationTokenExtension;
import org.apache.hadoop.crypto.key.KeyProviderFactory;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;

public class KmsDriver {
  /** One client: a user, and the provider as that user got it. */
  static class Client {
    Configuration conf;
    UserGroupInformation user;
    KeyProvider provider;
    KeyProviderCryptoExtension crypto;
  }

  interface Call { Object run(Client c, Map<String, Object> a) throws Exception; }

  static final Map<Integer, Client> CLIENTS = new HashMap<>();
  static final Map<String, Call> CALLS = new HashMap<>();

  static String text(Map<String, Object> a, String name) { return (String) a.get(name); }
  static String encode(byte[] b) { return b == null ? null : Base64.getEncoder().encodeToString(b); }
  static byte[] decode(Object s) { return s == null ? null : Base64.getDecoder().decode((String) s); }
  @SuppressWarnings("unchecked")
  static <T> List<T> list(Map<String, Object> a, String name) { return (List<T>) a.get(name); }

  // ---- what the client returns, as JSON

  static Map<String, Object> shown(KeyVersion v) {
    if (v == null) return null;
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("name", v.getName()); m.put("version", v.getVersionName()); m.put("material", encode(v.getMaterial()));
    return m;
  }

  static Map<String, Object> shown(Metadata d) {
    if (d == null) return null;
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("cipher", d.getCipher()); m.put("bits", d.getBitLength()); m.put("description", d.getDescription());
    m.put("attributes", d.getAttributes()); m.put("created", d.getCreated().getTime()); m.put("versions", d.getVersions());
    return m;
  }

  static Map<String, Object> shown(EncryptedKeyVersion e) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("key", e.getEncryptionKeyName()); m.put("version", e.getEncryptionKeyVersionName());
    m.put("iv", encode(e.getEncryptedKeyIv())); m.put("inner", e.getEncryptedKeyVersion().getVersionName());
    m.put("material", encode(e.getEncryptedKeyVersion().getMaterial()));
    return m;
  }

  static EncryptedKeyVersion wrapped(Map<String, Object> m) {
    return EncryptedKeyVersion.createForDecryption(text(m, "key"), text(m, "version"), decode(m.get("iv")), decode(m.get("material")));
  }

  static KeyProvider.Options options(Client c, Map<String, Object> a) {
    KeyProvider.Options o = new KeyProvider.Options(c.conf);
    if (a.get("bits") != null) o.setBitLength((Integer) a.get("bits"));
    if (a.get("cipher") != null) o.setCipher(text(a, "cipher"));
    if (a.get("description") != null) o.setDescription(text(a, "description"));
    @SuppressWarnings("unchecked") Map<String, String> attributes = (Map<String, String>) a.get("attributes");
    if (attributes != null) o.setAttributes(attributes);
    return o;
  }

  // ---- opening

  static Object open(Map<String, Object> a) throws Exception {
    Client c = new Client();
    c.conf = new Configuration();
    @SuppressWarnings("unchecked") Map<String, Object> conf = (Map<String, Object>) a.getOrDefault("conf", new HashMap<>());
    conf.forEach((k, v) -> c.conf.set(k, String.valueOf(v)));
    c.user = UserGroupInformation.createRemoteUser(text(a, "user"));
    if (a.get("real") != null)
      c.user = UserGroupInformation.createProxyUser(text(a, "user"), UserGroupInformation.createRemoteUser(text(a, "real")));
    if (a.get("token") != null) {
      Token<?> token = token(a);
      Credentials credentials = new Credentials();
      credentials.addToken(token.getService(), token);
      c.user.addCredentials(credentials);
    }
    c.user.doAs((PrivilegedExceptionAction<Void>) () -> {
      c.provider = KeyProviderFactory.get(new URI(text(a, "provider")), c.conf);
      c.crypto = KeyProviderCryptoExtension.createKeyProviderCryptoExtension(c.provider);
      return null;
    });
    CLIENTS.put(CLIENTS.size() + 1, c);
    return CLIENTS.size();
  }

  static Token<?> token(Map<String, Object> a) throws Exception {
    Token<?> t = new Token<>();
    t.decodeFromUrlString(text(a, "token"));
    return t;
  }

  // ---- the calls

  static {
    CALLS.put("close", (c, a) -> { c.provider.close(); return null; });
    CALLS.put("createKey", (c, a) -> shown(a.get("material") == null
        ? c.provider.createKey(text(a, "name"), options(c, a))
        : c.provider.createKey(text(a, "name"), decode(a.get("material")), options(c, a))));
    CALLS.put("rollNewVersion", (c, a) -> shown(a.get("material") == null
        ? c.provider.rollNewVersion(text(a, "name"))
        : c.provider.rollNewVersion(text(a, "name"), decode(a.get("material")))));
    CALLS.put("deleteKey", (c, a) -> { c.provider.deleteKey(text(a, "name")); return null; });
    CALLS.put("invalidateCache", (c, a) -> { c.provider.invalidateCache(text(a, "name")); return null; });
    CALLS.put("getKeys", (c, a) -> c.provider.getKeys());
    CALLS.put("getMetadata", (c, a) -> shown(c.provider.getMetadata(text(a, "name"))));
    CALLS.put("getKeysMetadata", (c, a) -> {
      List<Object> out = new ArrayList<>();
      for (Metadata m : c.provider.getKeysMetadata(KmsDriver.<String>list(a, "names").toArray(new String[0]))) out.add(shown(m));
      return out;
    });
    CALLS.put("getCurrentKey", (c, a) -> shown(c.provider.getCurrentKey(text(a, "name"))));
    CALLS.put("getKeyVersion", (c, a) -> shown(c.provider.getKeyVersion(text(a, "version"))));
    CALLS.put("getKeyVersions", (c, a) -> {
      List<KeyVersion> got = c.provider.getKeyVersions(text(a, "name"));
      if (got == null) return null;
      List<Object> out = new ArrayList<>();
      for (KeyVersion v : got) out.add(shown(v));
      return out;
    });
    CALLS.put("warmUp", (c, a) -> { c.crypto.warmUpEncryptedKeys(text(a, "name")); return null; });
    CALLS.put("drain", (c, a) -> { c.crypto.drain(text(a, "name")); return null; });
    CALLS.put("generate", (c, a) -> shown(c.crypto.generateEncryptedKey(text(a, "name"))));
    CALLS.put("decrypt", (c, a) -> encode(c.crypto.decryptEncryptedKey(wrapped(a)).getMaterial()));
    CALLS.put("reencrypt", (c, a) -> shown(c.crypto.reencryptEncryptedKey(wrapped(a))));
    CALLS.put("reencryptBatch", (c, a) -> {
      List<EncryptedKeyVersion> in = new ArrayList<>();
      for (Map<String, Object> m : KmsDriver.<Map<String, Object>>list(a, "keys")) in.add(wrapped(m));
      c.crypto.reencryptEncryptedKeys(in);
      List<Object> out = new ArrayList<>();
      for (EncryptedKeyVersion e : in) out.add(shown(e));
      return out;
    });
    CALLS.put("getToken", (c, a) -> {
      Token<?>[] got = KeyProviderDelegationTokenExtension.createKeyProviderDelegationTokenExtension(c.provider)
          .addDelegationTokens(text(a, "renewer"), new Credentials());
      Map<String, Object> m = new LinkedHashMap<>();
      m.put("token", got[0].encodeToUrlString());
      m.put("kind", got[0].getKind().toString());
      m.put("service", got[0].getService().toString());
      m.put("count", got.length);
      return m;
    });
    CALLS.put("renewToken", (c, a) -> token(a).renew(c.conf));
    CALLS.put("cancelToken", (c, a) -> { token(a).cancel(c.conf); return null; });
  }

  static Object serve(Map<String, Object> a) throws Exception {
    String what = text(a, "do");
    if (what.equals("open")) return open(a);
    Client c = CLIENTS.get(a.get("on"));
    Call call = CALLS.get(what);
    if (c == null || call == null) throw new IllegalArgumentException("no such client or call: " + a);
    return c.user.doAs((PrivilegedExceptionAction<Object>) () -> call.run(c, a));
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err);
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Map<String, Object> answer = new LinkedHashMap<>();
      try {
        @SuppressWarnings("unchecked") Map<String, Object> a = json.readValue(line, Map.class);
        answer.put("ok", serve(a));
      } catch (Throwable t) {
        Throwable real = t instanceof UndeclaredThrowableException && t.getCause() != null ? t.getCause() : t;
        answer.clear();
        answer.put("raised", real.getClass().getName());
        answer.put("message", real.getMessage());
        List<String> causes = new ArrayList<>();
        for (Throwable c = real.getCause(); c != null && causes.size() < 10; c = c.getCause()) causes.add(c.toString());
        answer.put("causes", causes);
      }
      out.println(json.writeValueAsString(answer));
    }
    System.exit(0);
  }
}
